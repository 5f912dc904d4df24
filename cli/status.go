package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	flags "crawlnode/cli/remote"
)

// statusVerb shows the cluster's status.
type statusVerb struct {
	source   `embed:""`
	Watch    bool          `group:"output" help:"Show it again and again, until interrupted: on a terminal in place, else one block after the other."`
	Interval time.Duration `group:"output" placeholder:"DURATION" default:"1s" help:"Time between two of them, with --watch."`
	All      bool          `group:"output" help:"Show everything: counts of hosts, answers, errors, links, archives, memory and disks. Without it: the state, what is wrong, the speed, the queue and the nodes."`
	Output   string        `short:"o" group:"output" enum:"text,json" default:"text" placeholder:"text|json" help:"text or json."`
	Check    string        `group:"output" enum:"ready,healthy," default:"" placeholder:"ready|healthy" help:"Say only whether the node takes part, or the cluster is well: exit code 0 or 1."`
}

// Help gives the examples of the verb.
func (*statusVerb) Help() string {
	return command.Examples("crawlnode status --watch", "crawlnode status --all",
		"crawlnode status --addr 127.0.0.1:27305 -o json",
		"crawlnode status --data-dir crawlnode-data/n1")
}

func (v *statusVerb) Run(ctx context.Context, env *Env) int {
	if v.Interval <= 0 {
		return env.Fail(command.ExitUsage, "--interval: %v is no time to wait: give one such as 1s",
			v.Interval)
	}
	ctx, cancel := env.UntilSignal(ctx)
	defer cancel()
	c, code := v.Open(env)
	if c == nil {
		return code
	}
	defer func() { _ = c.Close() }() // nothing was written
	switch {
	case c.Node != nil && v.Check != "":
		return env.Fail(command.ExitError, "no node runs on %s", strings.Join(v.DataDir, ", "))
	case c.Node != nil && v.Watch:
		return env.Fail(command.ExitUsage, "--watch: no node runs on %s, so nothing will change",
			strings.Join(v.DataDir, ", "))
	}
	if v.Check != "" {
		ok, why, err := c.Client.Check(ctx, v.Check)
		if err != nil {
			return env.Fail(command.ExitError, "%v", err)
		}
		for line := range strings.SplitSeq(why, "\n") {
			fmt.Fprintln(env.Stdout, plaintext.Escape(line))
		}
		if !ok {
			return command.ExitError
		}
		return command.ExitOK
	}
	for {
		var screen bytes.Buffer
		st, err := c.Status(ctx, false)
		switch {
		case err != nil && ctx.Err() != nil:
			return command.ExitOK
		case err != nil && !v.Watch:
			return env.Fail(command.ExitError, "%v", flags.OrDataDir(err))
		case err != nil:
			fmt.Fprintln(&screen, plaintext.Escape(err.Error())) // it may come back
		case v.Output == "json":
			enc := json.NewEncoder(&screen)
			if !v.Watch {
				enc.SetIndent("", "  ")
			}
			_ = enc.Encode(st) // into memory
		case v.All:
			_ = plaintext.WriteStatusAll(&screen, st) // into memory
		default:
			_ = plaintext.WriteStatus(&screen, st) // into memory
		}
		out := env.Stdout
		if v.Watch && v.Output == "text" {
			v.redraw(env, &screen)
			out = command.Own(out) // the texts in it are escaped
		}
		if _, err := out.Write(screen.Bytes()); err != nil {
			return command.ExitError // the reader has gone
		}
		if !v.Watch || !command.Pause(ctx, v.Interval) {
			return command.ExitOK
		}
	}
}

// redraw makes the text take the place of the last one on a terminal; elsewhere an
// empty line ends each block.
func (v *statusVerb) redraw(env *Env, screen *bytes.Buffer) {
	text := screen.String()
	screen.Reset()
	if !command.IsTerminal(env.Stdout) {
		screen.WriteString(text + "\n")
		return
	}
	// Each line is cleared behind its end, and the rest of the screen at the end: to
	// clear all of it first would flicker.
	screen.WriteString("\x1b[H" + strings.ReplaceAll(text, "\n", "\x1b[K\n") + "\x1b[J")
}
