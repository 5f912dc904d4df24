package cli

import (
	"bufio"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"crawlnode/api"
	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
)

// seedInput is a seed and where the user wrote it.
type seedInput struct {
	crawl.Seed
	place string // "seeds.txt:3", or "" for the command line
	// guessed: it was written without a scheme, and https was put in front of it.
	guessed bool
}

// readSeeds collects seeds from the command line and from files; "-" is
// standard input. It only checks that the files can be read.
func readSeeds(env *Env, urls, files []string) ([]seedInput, error) {
	var seeds []seedInput
	for _, url := range urls {
		seeds = append(seeds, seedInput{Seed: crawl.Seed{URL: url}})
	}
	for i, file := range files {
		if file == "-" && slices.Contains(files[:i], "-") {
			return nil, errors.New("- stands twice: standard input can be read once only")
		}
		lines, err := readSeedFile(env, file)
		if err != nil {
			return nil, fmt.Errorf("%w: give a file with one URL a line, or - for standard input", err)
		}
		if file == "-" {
			file = "standard input"
		}
		for _, seed := range lines {
			seeds = append(seeds, seedInput{Seed: seed, place: fmt.Sprintf("%s:%d", file, seed.Line)})
		}
	}
	for i := range seeds {
		seeds[i].Line = i + 1 // names the seed in reports, see complaint
	}
	return seeds, nil
}

// errSignalled says that a signal came before all seeds were read.
var errSignalled = errors.New("stopped by a signal before all of them were read; nothing was begun")

// readSeedsUnless is readSeeds, given up when a value comes from stop: standard input
// may be a person, or a pipe that no program writes to.
func readSeedsUnless[T any](stop <-chan T, env *Env, urls, files []string) (seeds []seedInput, err error) {
	if len(files) == 0 {
		return readSeeds(env, urls, nil)
	}
	if !await(stop, func() { seeds, err = readSeeds(env, urls, files) }) {
		return nil, errSignalled
	}
	return seeds, err
}

// seedsCode is the exit code of an error of readSeedsUnless.
func seedsCode(err error) int {
	if errors.Is(err, errSignalled) {
		return command.ExitInterrupted
	}
	return command.ExitUsage
}

func readSeedFile(env *Env, file string) ([]crawl.Seed, error) {
	r := env.Stdin
	if file != "-" {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		r = f
	}
	text, err := plainText(r)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	seeds, err := api.ReadSeedLines(io.LimitReader(text, maxSeedBytes))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return seeds, nil
}

// maxSeedBytes bounds what is read of a list of seeds, after decompression.
const maxSeedBytes = 1 << 30

// plainText decompresses r when it is gzip, and refuses what is no UTF-8 by its mark.
func plainText(r io.Reader) (io.Reader, error) {
	b := bufio.NewReader(r)
	mark, _ := b.Peek(2) // an error comes again with the first read
	switch string(mark) {
	case "\x1f\x8b":
		return gzip.NewReader(b)
	case "\xff\xfe", "\xfe\xff":
		return nil, errors.New("it is UTF-16: save it as UTF-8")
	}
	return b, nil
}

// plain drops the places.
func plain(seeds []seedInput) []crawl.Seed {
	out := make([]crawl.Seed, len(seeds))
	for i, s := range seeds {
		out[i] = s.Seed
	}
	return out
}

// complaint is one bad seed in a line that names its place.
func complaint(seeds []seedInput, bad crawl.SeedError) string {
	place := "seed"
	if i := bad.Line - 1; i >= 0 && i < len(seeds) && seeds[i].place != "" {
		place = seeds[i].place
	}
	why := bad.Error
	if mistake := mistakenFor(bad.Input); mistake != "" {
		why = mistake
	}
	return fmt.Sprintf("%s: %q: %s", api.Escape(place), bad.Input, api.Escape(why))
}

// withoutScheme matches what stands for a web server without a scheme: a name with a dot, an
// address or localhost, and perhaps a port and a path.
var withoutScheme = regexp.MustCompile(`^(localhost|[0-9A-Za-z-]+(\.[0-9A-Za-z-]+)+)(:[0-9]+)?(/|$)`)

// mistakenFor says what somebody has taken for a URL, and what to write; "": nothing that
// is known.
func mistakenFor(input string) string {
	if strings.Contains(input, "://") {
		return ""
	}
	if info, err := os.Stat(input); err == nil {
		if info.IsDir() {
			return "it is a directory, not a URL: give URLs such as https://example.org/"
		}
		return "it is a file, not a URL: to read URLs from it give it as a list, crawl --seeds FILE or seeds add -f FILE"
	}
	if lacksScheme(input) {
		return "it has no scheme: write https://" + input + ", or http://" + input
	}
	return ""
}

// lacksScheme reports whether a web server is meant and only the scheme is missing.
func lacksScheme(input string) bool {
	_, err := os.Stat(input)
	return err != nil && withoutScheme.MatchString(input)
}

// guessSchemes puts https in front of the seeds without a scheme. A server that speaks http
// only is found out when nothing could be fetched: see crawlWatch.complain.
func guessSchemes(seeds []seedInput) {
	for i := range seeds {
		if s := &seeds[i]; lacksScheme(s.URL) {
			s.URL, s.guessed = "https://"+s.URL, true
		}
	}
}

// validSeeds complains of the seeds that cannot be crawled and returns the others.
func validSeeds(env *Env, seeds []seedInput) []seedInput {
	var valid []seedInput
	for _, s := range seeds {
		if err := node.CheckSeed(s.URL); err != nil {
			env.Fail(0, "%s", complaint(seeds, crawl.SeedError{Line: s.Line, Input: s.URL, Error: err.Error()}))
			continue
		}
		valid = append(valid, s)
	}
	for i := range valid {
		valid[i].Line = i + 1 // as readSeeds does
	}
	return valid
}

// submit gives the seeds to the node of this process, in parts, each until it
// is acknowledged. It returns false when the node ended before.
func (s *session) submit(ctx context.Context) (crawl.SeedReport, bool) {
	const batch = 1000
	var total crawl.SeedReport
	for rest := plain(s.seeds); len(rest) > 0; {
		part := rest[:min(batch, len(rest))]
		report, err := s.node.AddSeeds(ctx, part)
		switch {
		case ctx.Err() != nil:
			return total, false
		case errors.Is(err, node.ErrUsage), errors.Is(err, crawl.ErrRefused):
			s.log.Error("the seeds were refused", "error", err)
			return total, true
		case err != nil:
			s.log.Warn("the seeds are not stored yet, trying again", "error", err)
			if !command.Pause(ctx, time.Second) {
				return total, false
			}
			continue
		}
		addReport(&total, report)
		rest = rest[len(part):]
	}
	return total, true
}

func addReport(total *crawl.SeedReport, r crawl.SeedReport) {
	total.Accepted += r.Accepted
	total.Duplicates += r.Duplicates
	total.OutOfScope += r.OutOfScope
	total.Invalid = append(total.Invalid, r.Invalid...)
}

// remote is how a verb reaches a node.
type remote struct {
	Addr           string `group:"cluster" placeholder:"ADDR" help:"A node's --http address, of any node (or CRAWLNODE_ADDR; default: 127.0.0.1:27295)."`
	ClusterKeyFile string `name:"cluster-key-file" group:"cluster" placeholder:"FILE" help:"The cluster's key, when it has one (or CRAWLNODE_CLUSTER_KEY_FILE)."`
	TokenFile      string `name:"token-file" group:"cluster" placeholder:"FILE" help:"In place of the key: a token that keygen --role made (or CRAWLNODE_TOKEN_FILE)."`
}

// dial returns the client; the error is one of the key file.
func (r *remote) dial(env *Env) (*client.Client, error) {
	file := r.ClusterKeyFile
	if file == "" {
		file, _ = env.Lookup("CRAWLNODE_CLUSTER_KEY_FILE")
	}
	access, err := r.access(env, file)
	if err != nil {
		return nil, err
	}
	return client.New(client.Options{Addr: r.addressOf(env), Token: access.Token, TLS: access.TLS}), nil
}

// addressOf is the node that is asked.
func (r *remote) addressOf(env *Env) string {
	addr := r.Addr
	if addr == "" {
		addr, _ = env.Lookup("CRAWLNODE_ADDR")
	}
	usual := config.Default().HTTP
	if addr == "" {
		return usual
	}
	if _, port, err := net.SplitHostPort(usual); err == nil && !strings.ContainsAny(addr, ":/") {
		return net.JoinHostPort(addr, port) // a host alone
	}
	return addr
}

// access reads the key, or the token that stands in for it. What was typed wins over
// the environment, and there a token, which may do less.
func (r *remote) access(env *Env, keyFile string) (node.Access, error) {
	tokenFile := r.TokenFile
	if tokenFile != "" && r.ClusterKeyFile != "" {
		return node.Access{}, errors.New("--token-file and --cluster-key-file: give one of them")
	}
	if tokenFile == "" && r.ClusterKeyFile == "" {
		tokenFile, _ = env.Lookup("CRAWLNODE_TOKEN_FILE")
	}
	if tokenFile != "" {
		access, err := node.LoadToken(tokenFile)
		if err != nil {
			return access, fmt.Errorf("--token-file: %w", err)
		}
		return access, nil
	}
	access, err := node.LoadAccess(keyFile)
	if err != nil {
		return access, fmt.Errorf("--cluster-key-file: %w", err)
	}
	return access, nil
}

// seedsVerbs are the verbs about seeds.
type seedsVerbs struct {
	Add seedsAddVerb `cmd:"" help:"Add URLs; answers when they are stored safely."`
}

// Help gives the examples of the verbs.
func (*seedsVerbs) Help() string { return (*seedsAddVerb)(nil).Help() }

// seedsAddVerb hands seeds to a running cluster.
type seedsAddVerb struct {
	remote   `embed:""`
	URLs     []string `arg:"" optional:"" name:"url" help:"URLs; - reads them from standard input, one a line."`
	File     []string `short:"f" group:"scope" sep:"none" placeholder:"FILE" help:"File with one URL a line; repeatable."`
	Priority *float64 `group:"scope" placeholder:"0..1" help:"Which come first: 1 does, 0 is last."`
	Again    bool     `group:"scope" help:"Fetch URLs that are known already once more."`
}

// Help gives the examples of the verb.
func (*seedsAddVerb) Help() string {
	return command.Examples(
		"crawlnode seeds add https://docs.example.org/ --addr 127.0.0.1:27305",
		"crawlnode seeds add -f seeds.txt",
	)
}

func (v *seedsAddVerb) Run(ctx context.Context, env *Env) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	var urls []string
	files := v.File
	for _, url := range v.URLs {
		if url == "-" {
			files = append(files, url)
			continue
		}
		urls = append(urls, url)
	}
	seeds, err := readSeedsUnless(ctx.Done(), env, urls, files)
	if err != nil {
		return env.Fail(seedsCode(err), "--file: %v", err)
	}
	if len(seeds) == 0 && len(files) == 0 {
		return env.Fail(command.ExitUsage, "no URL was given: name some, or a file with -f FILE")
	}
	for i := range seeds {
		seeds[i].Priority, seeds[i].Again = v.Priority, v.Again
	}
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	report, err := c.AddSeeds(ctx, plain(seeds))
	for _, bad := range report.Invalid {
		env.Fail(0, "%s", complaint(seeds, bad))
	}
	if err != nil {
		return env.Fail(answerCode(err), "%v", err)
	}
	line := fmt.Sprintf("seeds: %d accepted, %d duplicate, %d invalid", report.Accepted, report.Duplicates, len(report.Invalid))
	if report.OutOfScope > 0 {
		line += fmt.Sprintf(", %d out of scope", report.OutOfScope)
	}
	fmt.Fprintln(env.Stdout, line)
	if len(report.Invalid) > 0 && report.Accepted == 0 {
		return command.ExitUsage
	}
	return command.ExitOK
}
