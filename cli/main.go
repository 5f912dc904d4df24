package cli

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"reflect"
	"runtime"
	"runtime/debug"
	"slices"
	"time"

	"github.com/alecthomas/kong"

	"crawlnode/cli/bench"
	"crawlnode/cli/codes"
	"crawlnode/cli/command"
	"crawlnode/cli/demo"
	"crawlnode/cli/doctor"
	"crawlnode/cli/export"
	"crawlnode/cli/focus"
	"crawlnode/cli/graph"
	"crawlnode/cli/help"
	"crawlnode/cli/mcp"
	"crawlnode/cli/mistakes"
	"crawlnode/cli/replay"
	"crawlnode/cli/searchverb"
	"crawlnode/cli/warcfiles"
	"crawlnode/cli/worker"
	"crawlnode/config"
	"crawlnode/crawl"
	"crawlnode/node"
)

// Env is the world around one command.
type Env = command.Env

// grammar is the whole command line.
type grammar struct {
	Start      startVerb            `cmd:"" default:"withargs" help:"Run a node (the default verb)."`
	Crawl      crawlVerb            `cmd:"" help:"Crawl some sites with one node and end."`
	Demo       demo.Verb            `cmd:"" help:"Three nodes crawl a synthetic web on this machine; one leaves half-way."`
	Status     statusVerb           `cmd:"" help:"Show what the cluster does; any node answers for all."`
	Seeds      seedsVerbs           `cmd:"" help:"Hand URLs to a running cluster."`
	Nodes      nodesVerbs           `cmd:"" help:"List the nodes; drain or forget one; replace the key."`
	URLs       urlsVerbs            `cmd:"" name:"urls" help:"Tell why a URL is, or is not, crawled; list the stored URLs; fetch some again."`
	Cat        catVerb              `cmd:"" help:"Print what was stored of a URL: body, header or text."`
	Hosts      hostsVerbs           `cmd:"" help:"Show one host: its queue and its politeness."`
	Scope      scopeVerbs           `cmd:"" help:"Try a URL against the scope."`
	Export     export.Verbs         `cmd:"" help:"Write what the crawl has left behind."`
	Replay     replay.Verb          `cmd:"" help:"Show archived pages in a browser, as they were, from the archive alone."`
	Worker     worker.Verb          `cmd:"" help:"Fetch pages for a running cluster, as a worker."`
	Graph      graph.Verbs          `cmd:"" help:"Compute what the links say of pages and hosts."`
	Focus      focus.Verbs          `cmd:"" help:"Make the topic model of a focused crawl, and try it on pages."`
	WARC       warcfiles.Verbs      `cmd:"" name:"warc" help:"List, extract and verify the records of WARC files."`
	CrawlConf  crawlConfVerbs       `cmd:"" name:"crawl-config" help:"Show or change the settings of a running crawl."`
	Sites      sitesVerbs           `cmd:"" help:"Rules for sites: another delay, header, log-in, proxy or depth for some of them."`
	Pause      pauseVerb            `cmd:"" help:"Let the crawl rest: nothing is fetched, nothing is lost."`
	Resume     resumeVerb           `cmd:"" help:"Go on with a paused crawl."`
	Stop       stopVerb             `cmd:"" help:"Stop a node, or with --all every node of the cluster."`
	Keygen     keygenVerb           `cmd:"" help:"Make a cluster key, a token of less power, or the key that signs requests."`
	Bot        botVerbs             `cmd:"" help:"Publish the keys by which requests are signed."`
	Tokens     tokensVerbs          `cmd:"" help:"Revoke a token."`
	Config     configVerbs          `cmd:"" help:"Show the settings, and where each of them comes from."`
	Simweb     bench.WebVerb        `cmd:"" help:"Serve a synthetic web on this machine, to try a crawl on."`
	Doctor     doctor.Verb          `cmd:"" help:"Look for what keeps a node from working: ports, limits, disk, name servers, peers."`
	Search     searchverb.Verb      `cmd:"" help:"Find pages by their text, on any node of a crawl with --index on."`
	Index      searchverb.IndexVerb `cmd:"" help:"Make an index of WARC files, for search --data-dir."`
	MCP        mcp.Verb             `cmd:"" name:"mcp" help:"Answer a language model: search, read and explain the crawl over the Model Context Protocol."`
	Explain    codes.Verb           `cmd:"" help:"Explain a word that the program prints as a code: a health reason, an exit code, the end of a crawl, a bottleneck, a state."`
	Completion help.CompletionVerb  `cmd:"" help:"Print a script that completes this command line in a shell."`
	Man        help.ManVerb         `cmd:"" help:"Print the manual page."`
	Version    versionVerb          `cmd:"" help:"Print the version."`
	Reference  help.ReferenceVerb   `cmd:"" hidden:"" help:"Write the references of the command line and of the settings."`
	Bench      bench.Verb           `cmd:"" hidden:"" help:"Measure what a page costs."`
}

// Main runs the command line args, without the program's name, and returns the
// exit code. It returns when everything that it started has ended, but after a
// third signal at once.
func Main(ctx context.Context, args []string, env Env) int {
	env.Stdout, env.Stderr = command.OnScreen(env.Stdout), command.OnScreen(env.Stderr)
	defer command.Flush(env.Stdout)
	defer command.Flush(env.Stderr)
	exited := false // help was asked for and printed
	parser := newParser(&env, func(int) { exited = true })
	if len(args) > 0 && args[0] == help.CompleteWord {
		return help.PrintCandidates(parser.Model, args[1:], &env)
	}
	if len(args) > 0 && args[0] == "help" { // as other programs have it
		args = append(slices.Clone(args[1:]), "--help")
	}
	if len(args) > 0 && (args[0] == "--version" || args[0] == "-V") {
		args = []string{"version"}
	}
	args = mistakes.Arguments(args)
	parsed, err := parser.Parse(args)
	if exited {
		return command.ExitOK
	}
	if err != nil {
		return env.Fail(command.ExitUsage, "%s", mistakes.Explain(parser.Model, args, err))
	}
	if err := emptyFlags(parsed); err != nil {
		return env.Fail(command.ExitUsage, "%v", err)
	}
	v, ok := parsed.Selected().Target.Addr().Interface().(command.Verb)
	if !ok {
		panic("BUG: the verb " + parsed.Command() + " cannot run")
	}
	if s, ok := v.(interface{ SetGiven(map[string]bool) }); ok {
		s.SetGiven(givenFlags(parsed))
		for _, warning := range mistakes.Environment(env.Environ) { // the verb reads settings
			env.Fail(0, "%s", warning)
		}
	}
	if s, ok := v.(interface{ SetModel(*kong.Application) }); ok {
		s.SetModel(parser.Model)
	}
	return v.Run(ctx, &env)
}

// newParser makes the parser of the command line.
func newParser(env *Env, exit func(int)) *kong.Kong {
	parser, err := kong.New(new(grammar),
		kong.Name("crawlnode"),
		kong.Description("A peer-to-peer web crawler: every node is equal, "+
			"hosts are spread over the nodes, and no node's loss loses a URL."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(exit),
		kong.Help(help.Print),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.ValueFormatter(help.WithDefault),
		kong.ExplicitGroups(help.Groups()),
		kong.TypeMapper(reflect.TypeFor[time.Duration](), kong.MapperFunc(parseDuration)),
		kong.TypeMapper(reflect.TypeFor[netip.Prefix](), kong.MapperFunc(parseNet)),
		kong.TypeMapper(reflect.TypeFor[crawl.AssetPolicy](), command.AssetsFlag{}),
		kong.TypeMapper(reflect.TypeFor[config.Size](), kong.MapperFunc(parseSize)),
		kong.KindMapper(reflect.Float64, kong.MapperFunc(parseFloat)),
		kong.KindMapper(reflect.Int, kong.MapperFunc(parseInt)),
		kong.KindMapper(reflect.Int64, kong.MapperFunc(parseInt)),
	)
	if err != nil {
		panic("BUG: the grammar of the command line: " + err.Error())
	}
	return parser
}

// parseDuration reads a duration as the settings do: the error says what to write.
func parseDuration(from *kong.DecodeContext, target reflect.Value) error {
	token, err := from.Scan.PopValue("duration")
	if err != nil {
		return err
	}
	d, err := config.ParseDuration(fmt.Sprint(token.Value))
	if err == nil {
		target.SetInt(int64(d))
	}
	return config.Bounded(from.Value.Name, err)
}

// parseInt reads a whole number: the error says what to write.
func parseInt(from *kong.DecodeContext, target reflect.Value) error {
	token, err := from.Scan.PopValue("number")
	if err != nil {
		return err
	}
	n, err := config.ParseInt(fmt.Sprint(token.Value), target.Type().Bits())
	if err != nil {
		return config.Bounded(from.Value.Name, err)
	}
	target.SetInt(n)
	return nil
}

// parseFloat reads a number: the error says what to write.
func parseFloat(from *kong.DecodeContext, target reflect.Value) error {
	token, err := from.Scan.PopValue("number")
	if err != nil {
		return err
	}
	x, err := config.ParseFloat(fmt.Sprint(token.Value))
	if err == nil {
		target.SetFloat(x)
	}
	return err
}

// parseSize reads a size as the settings do: the error says what to write.
func parseSize(from *kong.DecodeContext, target reflect.Value) error {
	token, err := from.Scan.PopValue("size")
	if err != nil {
		return err
	}
	s, ok := target.Addr().Interface().(*config.Size)
	if !ok {
		panic("BUG: no size")
	}
	return config.Bounded(from.Value.Name, s.UnmarshalText([]byte(fmt.Sprint(token.Value))))
}

// parseNet reads a network as the settings do: the error says what to write.
func parseNet(from *kong.DecodeContext, target reflect.Value) error {
	token, err := from.Scan.PopValue("network")
	if err != nil {
		return err
	}
	n, err := config.ParseNet(fmt.Sprint(token.Value))
	if err == nil {
		target.Set(reflect.ValueOf(n))
	}
	return err
}

// givenFlags names the flags that stand on the command line.
func givenFlags(parsed *kong.Context) map[string]bool {
	given := make(map[string]bool)
	for _, element := range parsed.Path {
		if element.Flag != nil && !element.Resolved {
			given[element.Flag.Name] = true
		}
	}
	return given
}

// mayBeEmpty are the text flags for which an empty value makes sense: it clears what
// the file or the environment sets.
var mayBeEmpty = []string{"user-agent", "allow-net", "derive", "debug-addr", "frontier-addr"}

// emptyFlags lists the flags whose empty text is surely a mistake, most often of a
// script whose variable is not set: a node would found a cluster of its own instead of
// joining, and a request would go to another node.
func emptyFlags(parsed *kong.Context) error {
	var problems []error
	for _, element := range parsed.Path {
		f := element.Flag
		if f == nil || element.Resolved || slices.Contains(mayBeEmpty, f.Name) {
			continue
		}
		k := f.Target.Kind()
		if (k == reflect.String || k == reflect.Slice) && f.Target.Len() == 0 ||
			slices.Equal(textsOf(f.Target), []string{""}) {
			problems = append(problems,
				fmt.Errorf("--%s: is empty: is a variable not set? give a value, or leave the flag out",
					f.Name))
		}
	}
	return errors.Join(problems...)
}

// textsOf are the values of a flag that takes several texts.
func textsOf(v reflect.Value) []string {
	texts, _ := v.Interface().([]string)
	return texts
}

// Help gives the examples of the whole.
func (*grammar) Help() string {
	return command.Examples(
		"crawlnode crawl https://docs.example.org/ --contact me@example.org --max-pages 500",
		"crawlnode --name n1 --contact me@example.org")
}

type versionVerb struct{}

// Help gives the examples of the verb.
func (versionVerb) Help() string {
	return command.Examples("crawlnode version", "crawlnode version | head -1 | cut -d' ' -f2")
}

func (versionVerb) Run(_ context.Context, env *Env) int {
	protocol, format := node.Versions()
	fmt.Fprintf(env.Stdout, "crawlnode %s %s %s/%s\n", env.Version, runtime.Version(), runtime.GOOS,
		runtime.GOARCH)
	fmt.Fprintf(env.Stdout, "commit %s, protocol %d, data format %d\n", commit(), protocol, format)
	return command.ExitOK
}

// commit is what the program was built from, as far as the build has noted it.
func commit() string {
	name, dirty := "unknown", ""
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, s := range info.Settings {
			switch {
			case s.Key == "vcs.revision":
				name = s.Value
			case s.Key == "vcs.modified" && s.Value == "true":
				dirty = " with changes"
			}
		}
	}
	return name + dirty
}
