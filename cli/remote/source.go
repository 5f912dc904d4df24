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
	"crawlnode/output/readback"
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
	// DescribeURL is ExplainURL with what the newest capture says of itself.
	DescribeURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error)
	DescribeHost(ctx context.Context, host string) (*crawl.HostReport, error)
	ListURLs(ctx context.Context, q crawl.URLQuery) (*crawl.URLPage, error)
	CrawlConfig(ctx context.Context) (crawl.CrawlReport, error)
	Sites(ctx context.Context) (string, error)
	TestSites(ctx context.Context, url string, text *string) (crawl.SiteReport, error)
}

// Opened is where answers come from: Client or Node is not nil.
type Opened struct {
	Answers
	Client *client.Client // to a running node
	Node   *ended.Node    // data directories
}

// folders answers from data directories.
type folders struct {
	*ended.Node
	dirs []string
}

// DescribeURL implements Answers. A capture that cannot be read is no reason to say nothing.
func (f folders) DescribeURL(ctx context.Context, url string, depth int) (*crawl.URLReport, error) {
	r, err := f.ExplainURL(ctx, url, depth)
	if err != nil || r.URL == nil || r.Record == nil || r.Record.Archive == nil {
		return r, err
	}
	archives, err := readback.Open(f.dirs...)
	if err != nil {
		return r, nil //nolint:nilerr // as above
	}
	defer func() { _ = archives.Close() }() // it is in the system's folder of temporary files
	if page, err := readback.Load(ctx, archives, *r.URL, readback.MaxContent); err == nil {
		r.Metadata = page.Describe()
	}
	return r, nil
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
	case errors.Is(err, crawl.ErrUnknownHost), errors.Is(err, crawl.ErrBadQuery),
		errors.Is(err, crawl.ErrNoURL):
		return command.ExitUsage
	}
	if wrong := (*crawl.FieldErrors)(nil); errors.As(err, &wrong) {
		return command.ExitUsage
	}
	return command.ExitStorage
}

// Open opens what the flags name, or returns the exit code after saying what is wrong with it.
func (s *Source) Open(env *command.Env) (*Opened, int) {
	o, code, err := s.Reach(env)
	if err != nil {
		return nil, env.Fail(code, "%v", err)
	}
	if o.Client != nil && len(s.DataDir) > 0 {
		env.Fail(0, "a node runs on %s: it is asked, at %s", strings.Join(s.DataDir, ", "),
			o.Client.Address())
	}
	return o, command.ExitOK
}

// Reach is Open for those who say themselves what is wrong: code is the exit code of the error.
func (s *Source) Reach(env *command.Env) (o *Opened, code int, err error) {
	if len(s.DataDir) == 0 {
		if s.Copies {
			return nil, command.ExitUsage,
				errors.New("--copies is about data directories: give --data-dir with it")
		}
		c, err := s.Dial(env)
		if err != nil {
			return nil, ExitCode(err), err
		}
		return &Opened{Answers: c, Client: c}, command.ExitOK, nil
	}
	n, err := ended.Open(s.Copies, strings.TrimSpace(env.Version), s.DataDir...)
	if err == nil {
		return &Opened{Answers: folders{n, s.DataDir}, Node: n}, command.ExitOK, nil
	}
	addr, ok, unknown := Running(err, s.DataDir)
	switch {
	case !ok:
		return nil, FolderCode(err), fmt.Errorf("--data-dir: %w", err)
	case unknown != nil:
		return nil, command.ExitUsage, fmt.Errorf("--data-dir: %w", unknown)
	}
	c, err := s.DialTo(env, addr)
	if err != nil {
		return nil, ExitCode(err), err
	}
	return &Opened{Answers: c, Client: c}, command.ExitOK, nil
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
