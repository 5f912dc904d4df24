package remote

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
	"crawlnode/status/ended"
)

// Source says whom a verb asks that changes nothing: a running cluster, or the data directories of
// nodes that do not run. If a node runs on one of those, that node is asked.
type Source struct {
	Flags   `embed:""`
	DataDir []string `name:"data-dir" group:"output" sep:"none" placeholder:"DIR" help:"Answer from this node's data directory; the node need not run. Repeatable, for the nodes of one cluster."`
	Copies  bool     `group:"output" help:"With --data-dir: read partitions too of which only a copy is there."`
}

// Answers are what a node knows: a running one, or one that has left a data directory.
type Answers interface {
	Status(ctx context.Context, nodeOnly bool) (*crawl.Status, error)
	Nodes(ctx context.Context) ([]crawl.NodeStatus, error)
	ExplainURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
	CrawlConfig(ctx context.Context) (crawl.CrawlReport, error)
}

// Opened is where answers come from: Client or Node is not nil.
type Opened struct {
	Answers
	Client *client.Client // to a running node
	Node   *ended.Node    // data directories
}

// Close ends the asking.
func (o *Opened) Close() error {
	if o.Node != nil {
		return o.Node.Close()
	}
	o.Client.Close()
	return nil
}

// ExitCode is the exit code of an error of an answer.
func (o *Opened) ExitCode(err error) int {
	switch {
	case o.Client != nil:
		return AnswerCode(err)
	case errors.Is(err, crawl.ErrUnknownHost), errors.Is(err, crawl.ErrBadQuery):
		return command.ExitUsage
	}
	return command.ExitStorage
}

// Open opens what the flags name, or returns the exit code after saying what is wrong with it.
func (s *Source) Open(env *command.Env) (*Opened, int) {
	if len(s.DataDir) == 0 {
		if s.Copies {
			return nil, env.Fail(command.ExitUsage,
				"--copies is about data directories: give --data-dir with it")
		}
		c, err := s.Dial(env)
		if err != nil {
			return nil, env.Fail(ExitCode(err), "%v", err)
		}
		return &Opened{Answers: c, Client: c}, command.ExitOK
	}
	n, err := ended.Open(s.Copies, strings.TrimSpace(env.Version), s.DataDir...)
	if err == nil {
		return &Opened{Answers: n, Node: n}, command.ExitOK
	}
	if addr, ok, err := Running(err, s.DataDir); ok {
		if err != nil {
			return nil, env.Fail(command.ExitUsage, "--data-dir: %v", err)
		}
		c, err := s.DialTo(env, addr)
		if err != nil {
			return nil, env.Fail(ExitCode(err), "%v", err)
		}
		env.Fail(0, "a node runs on %s: it is asked, at %s", strings.Join(s.DataDir, ", "), addr)
		return &Opened{Answers: c, Client: c}, command.ExitOK
	}
	return nil, env.Fail(FolderCode(err), "--data-dir: %v", err)
}

// Answer opens the source, lets ask use it until a signal comes, and turns an error into an exit
// code.
func (s *Source) Answer(ctx context.Context, env *command.Env,
	ask func(context.Context, Answers) error) int {
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	o, code := s.Open(env)
	if o == nil {
		return code
	}
	err := ask(ctx, o)
	if closed := o.Close(); err == nil && closed != nil {
		return env.Fail(command.ExitStorage, "%v", closed)
	}
	if err != nil {
		return env.Fail(o.ExitCode(err), "%v", OrDataDir(err))
	}
	return command.ExitOK
}

// OrDataDir adds to the error of a node that was not reached that its data directory answers too.
func OrDataDir(err error) error {
	if errors.Is(err, client.ErrUnreachable) {
		return fmt.Errorf("%w; without a node, --data-dir DIR answers from what a crawl has left", err)
	}
	return err
}

// Running says whether a data directory could not be opened because a node runs on it, and at which
// address that one can be asked; an error: its address is not known.
func Running(cause error, dirs []string) (addr string, ok bool, err error) {
	locked := (*datadir.LockedError)(nil)
	if !errors.As(cause, &locked) {
		return "", false, nil
	}
	for _, dir := range dirs {
		if addr := datadir.Inspect(dir).HTTP; addr != "" {
			return client.Reachable(addr), true, nil
		}
	}
	return "", true, fmt.Errorf("a node runs on %s: ask it with --addr",
		plaintext.Escape(strings.TrimSuffix(locked.Path(), "/")))
}

// FolderCode is the exit code of a data directory that cannot be read.
func FolderCode(err error) int {
	locked := (*datadir.LockedError)(nil)
	if errors.As(err, &locked) || errors.Is(err, datadir.ErrUsage) {
		return command.ExitUsage
	}
	return command.ExitStorage
}
