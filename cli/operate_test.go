package cli

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"crawlnode/api/client"
	"crawlnode/cli/command"
	"crawlnode/crawl"
)

func (fakeNode) Nodes(context.Context) ([]crawl.NodeStatus, error) {
	return []crawl.NodeStatus{
		{ID: "id-1", Name: "n1", State: crawl.NodeAlive}, {ID: "id-2", Name: "n2\x1b", State: crawl.NodeFailed},
		{ID: "id-3", Name: "n3", State: crawl.NodeFailed},
	}, nil
}

func (fakeNode) DrainMember(_ context.Context, id crawl.NodeID) error {
	if id != "id-1" {
		return fmt.Errorf("%w: it does not answer", crawl.ErrRefused)
	}
	return nil
}

func (fakeNode) PlaceMember(_ context.Context, id crawl.NodeID, _ crawl.PlaceChange) error {
	switch id {
	case "id-1":
		return nil
	case "id-2":
		return errors.New("n2 does not answer, so it keeps its weight and zone")
	}
	return crawl.ErrUnknownNode
}

func (fakeNode) ForgetMember(_ context.Context, id crawl.NodeID) error {
	switch id {
	case "id-1":
		return fmt.Errorf("%w: n1 answers: drain it", crawl.ErrRefused)
	case "id-2":
		return nil
	case "id-3":
		return errors.New("no majority answers")
	}
	return crawl.ErrUnknownNode
}

func (fakeNode) ControlCrawl(_ context.Context, action string) (crawl.ActionReport, error) {
	if action == crawl.ActionPause {
		return crawl.ActionReport{State: crawl.CrawlPaused, Untold: []string{"n2\x1b"}}, nil
	}
	return crawl.ActionReport{}, fmt.Errorf("%w: the crawl is not paused", crawl.ErrRefused)
}

func TestOperate(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	for _, tc := range []struct {
		args        string
		code        int
		out, errout string
	}{
		{"nodes list", command.ExitOK, `n2\x1b  id-2  failed`, ""},
		{"nodes list -o wide", command.ExitOK, `n2\x1b  id-2  failed`, ""},
		{"nodes list -o json", command.ExitOK, `"id": "id-1"`, ""},
		{"nodes drain n1", command.ExitOK, "n1 (id-1) drains", ""},
		{"nodes drain id-3", command.ExitCluster, "", "drain id-3: refused: it does not answer"},
		{"nodes weight n1 4", command.ExitOK, "n1 (id-1) has weight 4 from the next view of the members on: partitions move", ""},
		{"nodes weight id-2 4", command.ExitCluster, "", "n2 does not answer, so it keeps its weight and zone"},
		{"nodes weight n9 4", command.ExitUsage, "", "weight n9: unknown node"},
		{"nodes weight n1 0", command.ExitUsage, "", "a weight is a number from 1 to 16, not 0"},
		{"nodes weight n1 17", command.ExitUsage, "", "a weight is a number from 1 to 16, not 17"},
		{"nodes weight n1 two", command.ExitUsage, "", `"two"`},
		{"nodes weight n1", command.ExitUsage, "", "<n>"},
		{"nodes zone n1 rack-7", command.ExitOK, "n1 (id-1) is in zone rack-7 from the next view of the members on: missing copies are made", ""},
		{"nodes zone n1", command.ExitOK, "n1 (id-1) is in no zone", ""},
		{"nodes zone n9 a", command.ExitUsage, "", "zone n9: unknown node"},
		{"nodes zone n1 123456789012345678901234567890123", command.ExitUsage, "", "at most 32 bytes"},
		{"nodes forget id-2 --yes", command.ExitOK, `n2\x1b (id-2) is forgotten`, ""},
		{"nodes forget n1 --yes", command.ExitCluster, "", "n1 answers: drain it"},
		{"nodes forget n3 --yes", command.ExitCluster, "", "no majority answers"},
		{"nodes forget n9 --yes", command.ExitUsage, "", "forget n9: unknown node"},
		{"nodes forget id-2", command.ExitUsage, "", "give --yes"}, // standard input is no terminal
		{"pause", command.ExitOK, "crawl: paused\n", `will follow when they can be reached: n2\x1b`},
		{"resume", command.ExitCluster, "", "resume: refused: the crawl is not paused"},
	} {
		run(t, "id-2\n", append(strings.Fields(tc.args), "--addr", addr)...).want(t, tc.code, tc.out,
			tc.errout)
	}
	for _, verb := range []string{"nodes list", "nodes drain n1", "nodes forget n1 --yes", "pause",
		"resume"} {
		run(t, "", append(strings.Fields(verb), "--addr", "127.0.0.1:1")...).want(t, command.ExitError,
			"", "nobody answers at 127.0.0.1:1")
	}
	run(t, "", "nodes", "zone", "n1", "", "--addr", addr).want(t, command.ExitUsage, "",
		"is a variable not set?")
	run(t, "", "nodes", "forget", "--help").want(
		t, command.ExitOK, "Forget a node only if it is dead", "")
}

func TestConfirmed(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]bool{
		"n3\n": true, " n3 \r\n": true, "n3": true, "n33\n": false, "": false, "\n": false, "y\n": false,
		"n1\nn3\n":                         false,
		strings.Repeat(" ", 2000) + "n3\n": false,
	} {
		if got := confirmed(strings.NewReader(in), "n3"); got != want {
			t.Errorf("%q confirms: %v", in, got)
		}
	}
}

// TestRotateKeyNeedsAKey: nothing is asked before the new key could be read.
func TestRotateKeyNeedsAKey(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "new.key")
	run(t, "", "nodes", "rotate-key", file).want(t, command.ExitUsage, "",
		"make one with: crawlnode keygen")
	run(t, "", "keygen", file).want(t, command.ExitOK, "", "")
	run(t, "", "nodes", "rotate-key", file, "--cluster-key-file", file, "--addr", "127.0.0.1:1").want(
		t, command.ExitError, "", "nobody answers")
}

func (fakeNode) StopMember(_ context.Context, id crawl.NodeID) error {
	return fmt.Errorf("%w: %s has no time", crawl.ErrRefused, id)
}

func (fakeNode) StopAll(context.Context) (crawl.StopReport, error) {
	return crawl.StopReport{
		Stopping:   []crawl.NodeRef{{ID: "id-2", Name: "far"}},
		Unanswered: []string{"n9"},
	}, nil
}

// TestStop: what an operator reads about nodes that do not stop. That they do is tested with
// processes.
func TestStop(t *testing.T) {
	t.Parallel()
	addr, dir := fakeAddr(t), t.TempDir()
	for _, tc := range []struct {
		args        string
		code        int
		out, errout string
	}{
		{"--all", command.ExitCluster, "told to stop, and not to be seen from here: far\n",
			"n9 did not take the order, so it still runs unless it was dead before"},
		{"--timeout 0s", command.ExitUsage, "", "no time to wait"},
		{"--data-dir " + dir, command.ExitUsage, "", "this is not the data directory of a node"},
	} {
		run(t, "", append(append([]string{"stop"}, strings.Fields(tc.args)...), "--addr", addr)...).want(
			t, tc.code, tc.out, tc.errout)
	}
	run(t, "", "stop", "--addr", "127.0.0.1:1").want(t, command.ExitError, "",
		"nobody answers at 127.0.0.1:1")
}

// TestForgetLooksFirst: on a terminal a node that there is not, or that answers, is no question.
func TestForgetLooksFirst(t *testing.T) {
	t.Parallel()
	addr := fakeAddr(t)
	c := client.New(client.Options{Addr: addr})
	defer c.Close()
	for node, want := range map[string]int{
		"n9":   command.ExitUsage,
		"n1":   command.ExitCluster,
		"id-1": command.ExitCluster,
		"n3":   0,
		"id-2": 0,
	} {
		v := nodesForgetVerb{Node: node}
		if err := v.fits(t.Context(), c); (err != nil) != (want != 0) ||
			err != nil && answerCode(err) != want {
			t.Errorf("%s: %v, want code %d", node, err, want)
		}
	}
}
