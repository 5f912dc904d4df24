package cli

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"

	"crawlnode/api/client"
	"crawlnode/api/plaintext"
	"crawlnode/cli/command"
	"crawlnode/crawl"
)

// nodesVerbs are the verbs about nodes.
type nodesVerbs struct {
	List   nodesListVerb      `cmd:"" help:"List the nodes with their ids and states."`
	Drain  nodesDrainVerb     `cmd:"" help:"Let a node hand its partitions over and leave."`
	Weight nodesWeightVerb    `cmd:"" help:"Change a node's share of the partitions."`
	Zone   nodesZoneVerb      `cmd:"" help:"Change what fails together with a node."`
	Forget nodesForgetVerb    `cmd:"" help:"Remove a dead node that will never come back."`
	Rotate nodesRotateKeyVerb `cmd:"" name:"rotate-key" help:"Replace the cluster's key while the nodes run."`
}

// Help gives the examples of the verbs.
func (*nodesVerbs) Help() string {
	return command.Examples("crawlnode nodes list", "crawlnode nodes drain n3 --addr 127.0.0.1:27305")
}

// nodesDrainVerb lets a node leave politely.
type nodesDrainVerb struct {
	remote `embed:""`
	Node   string `arg:"" name:"node" help:"The node's name or id."`
}

// Help gives the examples of the verb and says what it does.
func (*nodesDrainVerb) Help() string {
	return command.Examples("crawlnode nodes drain n3",
		"crawlnode nodes drain 5f0c2a9e41b7d386 --addr 127.0.0.1:27305") + `

The node finishes its open fetches, hands its partitions over, leaves the
cluster and ends, as it does on SIGTERM. Started again it joins again.`
}

func (v *nodesDrainVerb) Run(ctx context.Context, env *Env) int {
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		n, err := c.DrainNode(ctx, v.Node)
		if err == nil {
			fmt.Fprintf(env.Stdout,
				"%s drains: it hands its partitions over and ends; watch it with crawlnode status\n",
				nodeText(n))
		}
		return err
	})
}

// nodesWeightVerb changes a node's weight.
type nodesWeightVerb struct {
	remote `embed:""`
	Node   string `arg:"" name:"node" help:"The node's name or id."`
	Weight int    `arg:"" name:"n" help:"The weight, 1 to 16."`
}

// Help gives the examples of the verb and says what it does.
func (*nodesWeightVerb) Help() string {
	return command.Examples("crawlnode nodes weight n3 4",
		"crawlnode nodes weight 5f0c2a9e41b7d386 1 --addr 127.0.0.1:27305") + `

A node owns partitions in proportion to its weight: one of weight 4 owns four
times as many as one of weight 1. The partitions that have another owner by it
move, while the crawl goes on. The weight holds over restarts, until the node is
started with another --weight than it was when the weight was changed.`
}

func (v *nodesWeightVerb) Run(ctx context.Context, env *Env) int {
	if err := (crawl.PlaceChange{Weight: &v.Weight}).Check(); err != nil {
		return env.Fail(command.ExitUsage, "nodes weight: %v", err)
	}
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		n, err := c.WeighNode(ctx, v.Node, v.Weight)
		if err == nil {
			fmt.Fprintf(env.Stdout, "%s has weight %d from the next view of the members on: "+
				"partitions move then; watch with crawlnode nodes list\n", nodeText(n), v.Weight)
		}
		return err
	})
}

// nodesZoneVerb changes a node's zone.
type nodesZoneVerb struct {
	remote `embed:""`
	Node   string  `arg:"" name:"node" help:"The node's name or id."`
	Zone   *string `arg:"" name:"name" optional:"" help:"The zone, such as a rack or a building; none: it is in no zone any more."`
}

// Help gives the examples of the verb and says what it does.
func (*nodesZoneVerb) Help() string {
	return command.Examples("crawlnode nodes zone n3 rack-7",
		"crawlnode nodes zone n3 --addr 127.0.0.1:27305") + `

The copies of a partition are on nodes of different zones while there are enough
zones, so that what fails together, such as a rack, never has all of them. No
partition moves by a zone; copies are made where they are missing then. The zone
holds over restarts, until the node is started with another --zone than it was
when the zone was changed.`
}

func (v *nodesZoneVerb) Run(ctx context.Context, env *Env) int {
	zone := ""
	if v.Zone != nil {
		if zone = *v.Zone; zone == "" {
			return env.Fail(command.ExitUsage,
				"nodes zone: the name is empty: is a variable not set? Leave it out to take %s out of its zone",
				v.Node)
		}
	}
	if err := (crawl.PlaceChange{Zone: &zone}).Check(); err != nil {
		return env.Fail(command.ExitUsage, "nodes zone: %v", err)
	}
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		n, err := c.ZoneNode(ctx, v.Node, zone)
		if err == nil {
			fmt.Fprintf(env.Stdout,
				"%s is in %s from the next view of the members on: missing copies are made then; "+
					"watch with crawlnode nodes list\n",
				nodeText(n), plaintext.Escape(crawl.ZoneText(zone)))
		}
		return err
	})
}

// nodesForgetVerb permanently removes a dead node.
type nodesForgetVerb struct {
	remote `embed:""`
	Node   string `arg:"" name:"node" help:"The node's name or id."`
	Yes    bool   `group:"cluster" help:"Do not ask for confirmation."`
}

// Help gives the examples of the verb and its consequences.
func (*nodesForgetVerb) Help() string {
	return command.Examples("crawlnode nodes forget n3",
		"crawlnode nodes forget n3 --yes --addr 127.0.0.1:27305") + `

Forget a node only if it is dead and its data will never be used again. The
others then continue without waiting for it: it counts for no majority any
more, and partitions that only it had a copy of begin anew, empty, which loses
their URLs. The node can never join again under this id. If it still crawls
behind a broken network, two nodes may fetch from one host. A node that answers
is refused; drain it. Do not forget a node that can be started again: start it.`
}

func (v *nodesForgetVerb) Run(ctx context.Context, env *Env) int {
	if !v.Yes {
		if !command.IsTerminal(env.Stdin) {
			return env.Fail(command.ExitUsage,
				"nodes forget asks for confirmation on a terminal; there is none here: give --yes")
		}
		if code := v.ask(ctx, env, v.fits); code != command.ExitOK {
			return code
		}
		fmt.Fprintf(env.Stderr, "Forget %s only if it is dead and its data will never be used again.\n"+
			"URLs that only it had are lost. Type its name to continue: ", plaintext.Escape(v.Node))
		if !confirmed(env.Stdin, v.Node) {
			return env.Fail(command.ExitUsage, "not confirmed; nothing was done")
		}
	}
	return v.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		n, err := c.ForgetNode(ctx, v.Node)
		if err == nil {
			fmt.Fprintf(env.Stdout,
				"%s is forgotten: the others continue without it; watch them with crawlnode status\n",
				nodeText(n))
		}
		return err
	})
}

// fits fails for a node that there is not, or that answers: nothing has to be confirmed then.
// What is forgotten in the end is the cluster's decision.
func (v *nodesForgetVerb) fits(ctx context.Context, c *client.Client) error {
	nodes, err := c.Nodes(ctx)
	if err != nil {
		return err
	}
	answers := false
	for _, n := range nodes {
		switch {
		case n.Name != v.Node && string(n.ID) != v.Node:
		case n.State == crawl.NodeAlive || n.State == crawl.NodeDraining:
			answers = true
		default:
			return nil
		}
	}
	if answers {
		return &client.Error{Addr: v.Addr, Code: http.StatusConflict, Detail: fmt.Sprintf(
			"forget %s: it answers: drain it (crawlnode nodes drain), which loses nothing", v.Node)}
	}
	return &client.Error{Addr: v.Addr, Code: http.StatusNotFound, Detail: fmt.Sprintf(
		"forget %s: %v: crawlnode nodes list shows those that there are", v.Node, crawl.ErrUnknownNode)}
}

// confirmed reads one line and says whether it is what was asked for.
func confirmed(r io.Reader, want string) bool {
	line, _ := bufio.NewReader(io.LimitReader(r, 1024)).ReadString('\n') // the end of input is a no
	return strings.TrimSpace(line) == want
}

func nodeText(n client.NodeOrder) string {
	if n.Name == "" {
		return plaintext.Escape(string(n.ID))
	}
	return plaintext.Escape(n.Name + " (" + string(n.ID) + ")")
}

// pauseVerb lets the crawl rest.
type pauseVerb struct {
	remote `embed:""`
}

// Help gives the examples of the verb.
func (*pauseVerb) Help() string {
	return command.Examples("crawlnode pause", "crawlnode pause --addr 127.0.0.1:27305")
}

func (v *pauseVerb) Run(ctx context.Context, env *Env) int {
	return v.control(ctx, env, crawl.ActionPause)
}

// resumeVerb ends a pause.
type resumeVerb struct {
	remote `embed:""`
}

// Help gives the examples of the verb.
func (*resumeVerb) Help() string {
	return command.Examples("crawlnode resume", "crawlnode resume --addr 127.0.0.1:27305")
}

func (v *resumeVerb) Run(ctx context.Context, env *Env) int {
	return v.control(ctx, env, crawl.ActionResume)
}

// control gives an order about the crawl.
func (r *remote) control(ctx context.Context, env *Env, action string) int {
	return r.ask(ctx, env, func(ctx context.Context, c *client.Client) error {
		report, err := c.ControlCrawl(ctx, action)
		if err != nil {
			return err
		}
		fmt.Fprintf(env.Stdout, "crawl: %s\n", plaintext.Escape(report.State))
		if len(report.Untold) > 0 {
			env.Fail(0, "did not answer and will follow when they can be reached: %s",
				strings.Join(report.Untold, ", "))
		}
		return nil
	})
}
