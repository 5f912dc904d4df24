package mistakes

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"crawlnode/cli/help"
	"crawlnode/config"
)

// Arguments returns the arguments with negative numbers tied to the flags before them, which a
// parser takes for short flags: --delay -1s becomes --delay=-1s. So the value is judged.
func Arguments(args []string) []string {
	var out []string
	for _, a := range args {
		if last := len(out) - 1; last >= 0 && negative.MatchString(a) &&
			strings.HasPrefix(out[last], "--") && !strings.Contains(out[last], "=") {
			out[last] += "=" + a
			continue
		}
		out = append(out, a)
	}
	return out
}

var negative = regexp.MustCompile(`^-[0-9.]`)

// Explain adds to the error of a parser what was most likely meant.
func Explain(app *kong.Application, args []string, err error) string {
	text := err.Error()
	verb := verbOf(app, args)
	see := "; see " + verb.FullPath() + " --help"
	if verb == app.Node {
		see = "; see crawlnode --help"
	}
	if hint := misplaced(app, args, text); hint != "" {
		return hint
	}
	if m := unknownFlag.FindStringSubmatch(text); m != nil {
		if hint := flagHint(verb, m[1]); hint != "" {
			return "unknown flag " + m[1] + ": " + hint + see
		}
		if !strings.HasPrefix(m[1], "--") {
			return "unknown flag " + m[1] + see // the other short flags are no likely meaning
		}
	}
	if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && verb.Name == "start" &&
		verb != app.Node && len(args) > 0 && args[0] == "start" {
		return text + startHint(word) + see
	}
	if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && len(args) > 0 &&
		(word == args[0] || strings.HasPrefix(word, args[0]+",")) {
		return "unexpected argument " + args[0] + verbHint(app, args[0]) + see
	}
	if word, ok := strings.CutPrefix(text, "unexpected argument "); ok && verb != app.Node &&
		len(verb.Children) > 0 {
		return text + kindHint(verb, word) + see
	}
	if strings.HasPrefix(text, "expected ") {
		if examples, _ := help.SplitDetail(verb.Detail); len(examples) > 0 && examples[0] != "" {
			return text + ", such as: " + examples[0] + see
		}
	}
	return text + see
}

var unknownFlag = regexp.MustCompile(`^unknown flag (--?[^ ,]+)`)

// beforeVerb is what the parser says of a flag before a verb, which it takes for one of the default
// verb.
var beforeVerb = regexp.MustCompile(
	`^(?:flag (--?[^ ]+) applies to the default command|unknown flag (--?[^ ,]+))`)

// misplaced says where a flag that stands before its verb belongs; "": nothing of that kind is
// wrong.
func misplaced(app *kong.Application, args []string, text string) string {
	m := beforeVerb.FindStringSubmatch(text)
	if m == nil || len(args) == 0 || !strings.HasPrefix(args[0], "-") {
		return ""
	}
	i := slices.IndexFunc(args, func(a string) bool {
		return slices.ContainsFunc(app.Children, func(n *kong.Node) bool { return n.Name == a })
	})
	if i < 0 {
		return ""
	}
	verb, flag := verbOf(app, args[i:]), m[1]+m[2]
	for _, group := range verb.AllFlags(false) {
		if slices.ContainsFunc(group,
			func(f *kong.Flag) bool {
				return "--"+f.Name == flag || f.Short != 0 && "-"+string(f.Short) == flag
			}) {
			return "flag " + flag + " stands before the verb: write it behind, as " + verb.FullPath() + " " +
				flag + "; see " + verb.FullPath() + " --help"
		}
	}
	if m[1] == "" {
		return "" // it may be a flag of another tool
	}
	return verb.FullPath() + " has no flag " + flag + "; see " + verb.FullPath() + " --help"
}

// startHint is what an argument of start may mean, which takes none.
func startHint(word string) string {
	if strings.Contains(word, "://") {
		return ": to crawl it: crawlnode crawl " + config.InShell(word) + ", or --seed " +
			config.InShell(word)
	}
	return ": --name " + config.InShell(word) + " names the node"
}

// kindHint is what a verb has that takes another one after it, when that is none of them.
func kindHint(verb *kong.Node, word string) string {
	var names []string
	for _, c := range verb.Children {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	if strings.Contains(word, ", did you mean") || len(names) == 0 {
		return "" // the parser knows better
	}
	slices.Sort(names)
	return ": " + verb.FullPath() + " has " + strings.Join(names, ", ")
}

// verbOf is the verb that the arguments name, as far as it is one.
func verbOf(app *kong.Application, args []string) *kong.Node {
	at := app.Node
	for _, a := range args {
		i := slices.IndexFunc(at.Children, func(n *kong.Node) bool { return n.Name == a })
		if i < 0 {
			break
		}
		at = at.Children[i]
	}
	if at == app.Node && app.DefaultCmd != nil && len(args) > 0 && strings.HasPrefix(args[0], "-") {
		return app.DefaultCmd
	}
	return at
}

// flagHint is what a flag of another tool means here; "": it is not known, or the verb has no such
// flag.
func flagHint(verb *kong.Node, flag string) string {
	if verb.Name == "crawl" && flag == "--join" {
		return crawlJoinHint
	}
	if verb.Name == "crawl" && strings.HasPrefix(flag, "--recrawl") {
		return "crawl makes one pass and ends; crawlnode start --recrawl fixed or adaptive visits " +
			"pages again"
	}
	for _, f := range foreignFlags {
		if !slices.Contains(strings.Fields(f.flags), flag) {
			continue
		}
		if f.ours == "" {
			return f.hint
		}
		if f.ours == "join" && verb.Name == "crawl" {
			return crawlJoinHint
		}
		for _, group := range verb.AllFlags(false) {
			if slices.ContainsFunc(group, func(g *kong.Flag) bool { return g.Name == f.ours }) {
				return f.hint
			}
		}
	}
	return ""
}

const crawlJoinHint = "crawl runs one node of its own; to take part in a cluster: " +
	"crawlnode start --join host:port, and crawlnode seeds add URL"

// foreignFlags are the flags of other tools (wget, curl, Scrapy, Heritrix, HTTrack, Nutch), and the
// near misses that share no letters with ours.
var foreignFlags = []struct{ flags, ours, hint string }{
	{"--depth --level -l --max-level --depth-limit -d", "max-depth", "--max-depth N bounds the links that are followed from a seed"},
	{"-r --recursive --mirror -m --crawl --follow", "", "links are followed anyway; --scope says how far, --max-depth how deep"},
	{"--url --urls --start-url --start --site -u", "", "a URL stands without a flag: crawlnode crawl https://example.org/"},
	{"-i --input-file --input --list --url-file -f --file", "seeds", "--seeds FILE reads URLs, one a line"},
	{"--output-dir --out --output -o -O -P --dir --directory --directory-prefix --dest --path",
		"data-dir",
		"crawl --output DIR writes the pages as files; --data-dir DIR holds all that a crawl keeps"},
	{"--limit -n --max --count --max-urls --page-limit --pages --quota -Q", "max-pages", "--max-pages N bounds the pages"},
	{"--threads -t -c --concurrency --workers --parallel -j --connections --concurrent", "fetchers",
		"--fetchers N bounds the requests at a time; each host gets one at a time"},
	{"--wait -w --sleep --rate --rate-limit --interval --pause --throttle --download-delay", "delay",
		"--delay 1s is the pause between two requests to a host"},
	{"-T --time --max-time --time-limit", "max-duration", "--max-duration 10m ends the crawl; each request has limits of its own"},
	{"-U -A --agent --useragent --ua", "user-agent", "--user-agent TEXT"},
	{"--email --mail --from --owner", "contact", "--contact me@example.org"},
	{"--port -p --listen --bind --host", "http", "--http, --gossip and --rpc take host:port"},
	{"--peers --peer --bootstrap --seed-node --nodes --cluster-nodes --initial-cluster", "join",
		"--join host:port,host:port names members by their --gossip addresses"},
	{"-v --verbose --debug -q --quiet -s --silent", "log-level", "--log-level debug, info, warn or error"},
	{"-k --no-check-certificate --no-verify --no-verify-ssl", "tls-verify",
		"--tls-verify record goes on with a bad certificate and records it"},
	{"--ignore-robots --no-robots --disobey-robots", "robots", "--robots ignore, which counts inside --allow-net only"},
	{"--revisit --refresh --reindex --revisit-interval --refresh-interval --ttl", "recrawl",
		"--recrawl fixed or adaptive visits known pages again, --recrawl-interval says how often " +
			"at first"},
	{"--resume --continue --restore", "", "the same command goes on where the last one stopped"},
	{"--restart --force --overwrite --refetch --fresh", "again",
		"--again fetches the seeds once more; another --data-dir begins from nothing"},
	{"-D --domains --domain --allowed-domains --span-hosts -H --external", "scope",
		"--scope page, prefix, host, domain or any; --include 'host:*.example.org' adds to it"},
	{"--accept --allow --filter --pattern", "include", "--include PATTERN"},
	{"-R --reject --deny --disallow --ignore", "exclude", "--exclude PATTERN"},
	{"--page-requisites --images --resources", "assets", "--assets keeps the images, styles and scripts of pages"},
	{"--server --endpoint --node --address -a", "addr", "--addr host:port is the --http address of any node"},
	{"--format --json", "output", "-o json"},
	{"--cluster-name", "cluster", "--cluster NAME"},
}

// verbHint is what a first word that is no verb means. The default verb takes it for an argument,
// so the parser suggests nothing.
func verbHint(app *kong.Application, word string) string {
	var verbs []string
	for _, v := range app.Children {
		if !v.Hidden {
			verbs = append(verbs, v.Name)
		}
	}
	if strings.Contains(word, "://") || strings.HasPrefix(word, "www.") {
		return ": to crawl it: crawlnode crawl " + config.InShell(word)
	}
	if hint := foreignVerbs[strings.ToLower(word)]; hint != "" {
		return ": " + hint
	}
	// Of two that are equally near the one of the same length is meant: letters are swapped
	// more often than left out.
	slices.SortStableFunc(verbs,
		func(a, b string) int { return lengthsApart(a, word) - lengthsApart(b, word) })
	if verb := config.Suggest(word, verbs); verb != "" {
		return fmt.Sprintf(", did you mean %q?", verb)
	}
	return ""
}

func lengthsApart(a, b string) int { return max(len(a)-len(b), len(b)-len(a)) }

// foreignVerbs are what people type for our verbs.
var foreignVerbs = func() map[string]string {
	verbs := map[string]string{}
	for words, hint := range map[string]string{
		"fetch get run scrape spider download mirror wget curl go": "to crawl sites: crawlnode crawl URL",
		"server serve node up daemon agent":                        "to run a node: crawlnode start",
		"join": "to join a cluster: " +
			"crawlnode start --join host:port",
		"info ping health ps top stats watch": "to see what the cluster does: crawlnode status --watch",
		"add seed submit inject": "to add URLs to a running cluster: " +
			"crawlnode seeds add URL",
		"list ls members peers":        "to list the nodes: crawlnode nodes list",
		"remove rm leave decommission": "to take a node out: crawlnode nodes drain NODE",
		"set settings configure":       "to change a running crawl: crawlnode crawl-config set KEY=VALUE",
		"show view read warc":          "to read a page back: crawlnode cat URL",
		"kill shutdown quit exit":      "to stop a node: crawlnode stop, and with --all the cluster",
		"logs log": "a node logs to its standard error; " +
			"crawlnode status shows what it does",
		"init bootstrap":    "nothing has to be prepared: the first node founds the cluster",
		"robots test check": "to try a URL: crawlnode scope test URL; for a setup: crawlnode doctor",
	} {
		for word := range strings.FieldsSeq(words) {
			verbs[word] = hint
		}
	}
	return verbs
}()

// Environment returns a warning for each variable that is surely meant for this program and names
// no setting. Others that begin alike, as those of a service manager, are left alone.
func Environment(environ []string) []string {
	known := map[string]bool{}
	for _, name := range append(config.Names(), "addr", "config", "token-file") {
		known[config.EnvName(name)] = true
	}
	squeezed := map[string]string{}
	for name := range known {
		squeezed[squeeze(name)] = name
	}
	var warnings []string
	for _, variable := range environ {
		name, _, _ := strings.Cut(variable, "=")
		if !strings.HasPrefix(strings.ToUpper(name), "CRAWLNODE_") || known[name] ||
			strings.Contains(name, "_SERVICE_") || strings.Contains(name, "_PORT_") {
			continue
		}
		meant := squeezed[squeeze(name)]
		if meant == "" {
			meant = near(squeeze(name), squeezed)
		}
		if meant != "" {
			warnings = append(warnings,
				fmt.Sprintf("the environment variable %s counts for nothing; did you mean %s?", name, meant))
		}
	}
	return warnings
}

// squeeze leaves out what people get wrong.
func squeeze(name string) string {
	return strings.ToLower(strings.NewReplacer("_", "", "-", "").Replace(name))
}

// near is the known variable that differs least, if that is little.
func near(name string, squeezed map[string]string) string {
	meant := config.Suggest(name, slices.Sorted(maps.Keys(squeezed)))
	if meant == "" || lengthsApart(meant, name) > 2 || !within(name, meant, 2) {
		return ""
	}
	return squeezed[meant]
}

// within reports whether at most n edits of single bytes turn a into b.
func within(a, b string, n int) bool {
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	switch {
	case a == "" || b == "":
		return max(len(a), len(b)) <= n
	case n == 0:
		return false
	}
	return within(a[1:], b, n-1) || within(a, b[1:], n-1) || within(a[1:], b[1:], n-1)
}
