package cli

import (
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"strings"

	"github.com/alecthomas/kong"

	"crawlnode/api"
)

// Env is the world around one command. All fields but Signals must be set.
type Env struct {
	Stdin          io.Reader
	Stdout, Stderr io.Writer
	// Lookup finds an environment variable.
	Lookup func(string) (string, bool)
	// Signals carries SIGINT, SIGTERM and SIGHUP; nil: there are none.
	Signals <-chan os.Signal
	// Executable is the path of this program, for the verbs that start nodes.
	Executable string
	// Version is what this build calls itself.
	Version string

	children []string // variables, NAME=VALUE, for the programs that a verb starts
}

// verb is one thing that a person can ask for.
type verb interface {
	// run does it and returns the exit code. It returns soon after ctx is over.
	run(ctx context.Context, env *Env) int
}

// grammar is the whole command line.
type grammar struct {
	Start   startVerb   `cmd:"" default:"withargs" help:"Run a node (the default verb)."`
	Crawl   crawlVerb   `cmd:"" help:"Crawl some sites with one node and end."`
	Demo    demoVerb    `cmd:"" help:"Three nodes crawl a synthetic web on this machine; one leaves half-way."`
	Status  statusVerb  `cmd:"" help:"Show what the cluster does; any node answers for all."`
	Seeds   seedsVerbs  `cmd:"" help:"Hand URLs to a running cluster."`
	Nodes   nodesVerbs  `cmd:"" help:"List the nodes; drain or forget one."`
	URLs    urlsVerbs   `cmd:"" name:"urls" help:"Tell why a URL is, or is not, crawled."`
	Hosts   hostsVerbs  `cmd:"" help:"Show one host: its queue and its politeness."`
	Scope   scopeVerbs  `cmd:"" help:"Try a URL against the scope."`
	Export  exportVerbs `cmd:"" help:"Write what the crawl has left behind."`
	Pause   pauseVerb   `cmd:"" help:"Let the crawl rest: nothing is fetched, nothing is lost."`
	Resume  resumeVerb  `cmd:"" help:"Go on with a paused crawl."`
	Keygen  keygenVerb  `cmd:"" help:"Make a cluster key."`
	Version versionVerb `cmd:"" help:"Print the version."`
	Simweb  simwebVerb  `cmd:"" hidden:"" help:"Serve a synthetic web until standard input ends."`
	Bench   benchVerb   `cmd:"" hidden:"" help:"Measure what a page costs."`
}

// Main runs the command line args, without the program's name, and returns the
// exit code. It returns when everything that it started has ended, but after a
// third signal at once.
func Main(ctx context.Context, args []string, env Env) int {
	var g grammar
	exited := false // help was asked for and printed
	parser, err := kong.New(&g,
		kong.Name("crawlnode"),
		kong.Description("A peer-to-peer web crawler: every node is equal, hosts are spread over the nodes, and no node's loss loses a URL."),
		kong.Writers(env.Stdout, env.Stderr),
		kong.Exit(func(int) { exited = true }),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, WrapUpperBound: 110}),
		kong.ValueFormatter(withDefault),
		kong.ExplicitGroups(flagGroups()),
	)
	if err != nil {
		panic("BUG: the grammar of the command line: " + err.Error())
	}
	parsed, err := parser.Parse(args)
	if exited {
		return exitOK
	}
	if err != nil {
		return env.fail(exitUsage, "%v; see crawlnode --help", err)
	}
	v, ok := parsed.Selected().Target.Addr().Interface().(verb)
	if !ok {
		panic("BUG: the verb " + parsed.Command() + " cannot run")
	}
	if s, ok := v.(interface{ setGiven(map[string]bool) }); ok {
		s.setGiven(givenFlags(parsed))
	}
	return v.run(ctx, &env)
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

// flagGroups are the headings of a verb's help, in their order.
func flagGroups() []kong.Group {
	return []kong.Group{
		{Key: "node", Title: "Node:"},
		{Key: "cluster", Title: "Cluster:"},
		{Key: "scope", Title: "Scope (what is crawled):"},
		{Key: "politeness", Title: "Politeness (how sites are treated):"},
		{Key: "output", Title: "Output:"},
		{Key: "limits", Title: "Limits:"},
	}
}

// withDefault adds a flag's default to its help.
func withDefault(v *kong.Value) string {
	if !v.HasDefault || v.Default == "" || v.Default == "0" || v.Default == "0s" {
		return v.Help
	}
	return strings.TrimSuffix(v.Help, ".") + " (default: " + v.Default + ")."
}

// fail prints why a command cannot go on, one line for each line of the
// message, and returns the exit code.
func (e *Env) fail(code int, format string, args ...any) int {
	for line := range strings.SplitSeq(strings.TrimRight(fmt.Sprintf(format, args...), "\n"), "\n") {
		fmt.Fprintln(e.Stderr, "crawlnode: "+api.Escape(line))
	}
	return code
}

// untilSignal returns a context that ends with the first signal that ends a
// program; cancel must be called.
func (e *Env) untilSignal(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if e.Signals != nil {
		go func() { // ends with ctx, which the caller ends by cancel
			select {
			case <-e.Signals:
				cancel()
			case <-ctx.Done():
			}
		}()
	}
	return ctx, cancel
}

// isTerminal says whether w is a terminal that a line can be redrawn on.
func isTerminal(w io.Writer) bool { return terminal(w) }

// terminal says whether a stream, to read or to write, is a terminal.
func terminal(stream any) bool {
	f, ok := stream.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0 && f.Name() != os.DevNull
}

type versionVerb struct{}

// Help gives the examples of the verb.
func (versionVerb) Help() string {
	return examples("crawlnode version", "crawlnode version | cut -d' ' -f2")
}

func (versionVerb) run(_ context.Context, env *Env) int {
	fmt.Fprintf(env.Stdout, "crawlnode %s %s %s/%s\n", env.Version, runtime.Version(), runtime.GOOS, runtime.GOARCH)
	return exitOK
}

// examples renders command lines for a verb's help.
func examples(lines ...string) string {
	return "Examples:\n\n    " + strings.Join(lines, "\n    ")
}
