package cli

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"time"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// stopVerb ends nodes: one, or all of a cluster. It sends the order, by the API or as a signal, and
// waits until the nodes are gone.
type stopVerb struct {
	remote  `embed:""`
	All     bool          `group:"cluster" help:"Stop every node of the cluster. Nothing moves: each keeps its data, and the same commands go on with it."`
	DataDir string        `name:"data-dir" group:"node" placeholder:"DIR" help:"Stop the node of this data directory, with a signal; no key is needed."`
	Timeout time.Duration `group:"limits" placeholder:"DURATION" default:"60s" help:"How long to wait for the end."`
}

// Help gives the examples of the verb and says what it does.
func (*stopVerb) Help() string {
	return command.Examples("crawlnode stop", "crawlnode stop --data-dir crawlnode-data/n1",
		"crawlnode stop --all --addr 127.0.0.1:27305") + `

It stops the node at --addr as the first SIGTERM does: the node finishes its
open fetches, hands its partitions over to the other nodes, and ends. Without
another node it ends with its data in place. Nothing is lost, and the command
that started it goes on.

With --all no partition moves: every node finishes its open fetches, and when
all have, all end. Start them again with their own commands, in any order.

The exit code is 0 when the nodes are gone, also when none runs on --data-dir,
and 4 when one of them still runs.`
}

// Run gives the order and waits.
func (v *stopVerb) Run(ctx context.Context, env *Env) int {
	if v.Timeout <= 0 {
		return env.Fail(command.ExitUsage, "--timeout: %v is no time to wait: give one such as 60s",
			v.Timeout)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	if v.DataDir != "" {
		state, code := v.runs(env)
		if state.PID == 0 {
			return code
		}
		if !v.All {
			return v.signal(ctx, env, state.PID)
		}
		if v.Addr == "" {
			v.Addr = client.Reachable(state.HTTP)
		}
	}
	c, err := v.dial(env)
	if err != nil {
		return env.Fail(exitCode(err), "%v", err)
	}
	defer c.Close()
	if v.All {
		err = v.stopAll(ctx, env, c)
	} else {
		err = v.stopOne(ctx, env, c)
	}
	return v.code(env, err)
}

// errStays is inside an error about a node that still runs.
var errStays = errors.New("it still runs")

// code prints an error and returns its exit code.
func (v *stopVerb) code(env *Env, err error) int {
	switch {
	case err == nil:
		return command.ExitOK
	case errors.Is(err, errStays):
		return env.Fail(command.ExitCluster, "%v", err)
	case errors.Is(err, context.Canceled):
		return env.Fail(command.ExitInterrupted, "not waiting any longer; the order was given")
	}
	return env.Fail(answerCode(err), "%v", err)
}

// runs reports which node runs on the data directory. Without one the exit code says what is so.
func (v *stopVerb) runs(env *Env) (s datadir.State, code int) {
	release, err := datadir.Hold(v.DataDir)
	locked := (*datadir.LockedError)(nil)
	switch {
	case err == nil:
		release()
		fmt.Fprintf(env.Stdout, "no node runs on %s\n", plaintext.Escape(v.DataDir))
		return s, command.ExitOK
	case errors.Is(err, datadir.ErrUsage):
		return s, env.Fail(command.ExitUsage, "--data-dir: %v", err)
	case !errors.As(err, &locked):
		return s, env.Fail(command.ExitStorage, "--data-dir: %v", err)
	}
	if s = datadir.Inspect(v.DataDir); s.PID == 0 {
		return s, env.Fail(command.ExitStorage,
			"--data-dir: a process uses %s, and its pid file does not say which", v.DataDir)
	}
	return s, command.ExitOK
}

// signal stops the node of the data directory and waits until nobody uses that.
func (v *stopVerb) signal(ctx context.Context, env *Env, pid int) int {
	if err := syscall.Kill(pid, syscall.SIGTERM); err != nil && !errors.Is(err, syscall.ESRCH) {
		return env.Fail(command.ExitError, "cannot signal process %d, which runs the node of %s: %v", pid,
			v.DataDir, err)
	}
	err := v.await(ctx, fmt.Sprintf("process %d", pid), func() bool {
		release, err := datadir.Hold(v.DataDir)
		if err == nil {
			release()
		}
		return err == nil
	})
	if err == nil {
		fmt.Fprintf(env.Stdout, "the node of %s has stopped; the command that started it goes on\n",
			plaintext.Escape(v.DataDir))
	}
	return v.code(env, err)
}

// await asks gone again and again until it says so.
func (v *stopVerb) await(ctx context.Context, what string, gone func() bool) error {
	for until := time.Now().Add(v.Timeout); !gone(); {
		if !time.Now().Before(until) {
			return fmt.Errorf("%s was told to stop, and after %v %w: its log says what it waits for; "+
				"a second SIGTERM stops it at once", what, v.Timeout, errStays)
		}
		if !command.Pause(ctx, 100*time.Millisecond) {
			return context.Canceled
		}
	}
	return nil
}

// stopping is a node whose end can be seen from here.
type stopping struct {
	crawl.NodeRef
	client *client.Client
	pid    int
}

// stoppingAt finds out whether the node at an address is the one that is meant; "" means any.
func stoppingAt(ctx context.Context, c *client.Client, id crawl.NodeID) (stopping, error) {
	st, err := c.Status(ctx, true)
	if err != nil {
		return stopping{}, err
	}
	for _, n := range st.Nodes {
		if n.Name == st.ServedBy && (id == "" || n.ID == id) {
			w := stopping{NodeRef: crawl.NodeRef{ID: n.ID, Name: n.Name}, client: c}
			if n.PID != nil {
				w.pid = *n.PID
			}
			return w, nil
		}
	}
	return stopping{}, fmt.Errorf("another node answers there: %s", st.ServedBy)
}

// gone reports whether the node does not answer any more, or another process does in its place.
func (w *stopping) gone(ctx context.Context) bool {
	now, err := stoppingAt(ctx, w.client, w.ID)
	late := net.Error(nil)
	if errors.As(err, &late) && late.Timeout() {
		return false // it is only slow
	}
	return errors.Is(err, client.ErrUnreachable) || err == nil && now.pid != w.pid
}

// stopOne stops the node that answers.
func (v *stopVerb) stopOne(ctx context.Context, env *Env, c *client.Client) error {
	w, err := stoppingAt(ctx, c, "")
	if err != nil {
		return err
	}
	if _, err := c.StopNode(ctx, string(w.ID)); err != nil {
		return err
	}
	if err := v.await(ctx, w.Name, func() bool { return w.gone(ctx) }); err != nil {
		return err
	}
	fmt.Fprintf(env.Stdout, "%s has stopped; the command that started it goes on\n",
		plaintext.Escape(w.Name))
	return nil
}

// stopAll stops all nodes, and waits for those whose address can be reached from here.
func (v *stopVerb) stopAll(ctx context.Context, env *Env, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	seen := map[crawl.NodeID]stopping{}
	for _, n := range nodes {
		if n.State == crawl.NodeLeft || n.State == crawl.NodeFailed || n.HTTP == "" {
			continue
		}
		at, err := v.DialTo(env, client.Reachable(n.HTTP))
		if err != nil {
			return err
		}
		defer at.Close()
		if w, err := stoppingAt(ctx, at, n.ID); err == nil {
			seen[n.ID] = w
		}
	}
	report, err := c.StopAll(ctx)
	if err != nil {
		return err
	}
	var stopped, unseen []string
	for _, n := range report.Stopping {
		w, ok := seen[n.ID]
		if !ok {
			unseen = append(unseen, n.Name)
			continue
		}
		if err := v.await(ctx, n.Name, func() bool { return w.gone(ctx) }); err != nil {
			return err
		}
		stopped = append(stopped, n.Name)
	}
	fmt.Fprintf(env.Stdout, "stopped: %s; the commands that started them go on\n",
		plaintext.Escape(strings.Join(stopped, ", ")))
	if len(unseen) > 0 {
		fmt.Fprintf(env.Stdout, "told to stop, and not to be seen from here: %s\n",
			plaintext.Escape(strings.Join(unseen, ", ")))
	}
	if len(report.Unanswered) > 0 {
		return fmt.Errorf("%s did not take the order, so %w unless it was dead before: "+
			"stop it on its machine, with crawlnode stop --data-dir DIR", strings.Join(report.Unanswered,
			", "), errStays)
	}
	return nil
}
