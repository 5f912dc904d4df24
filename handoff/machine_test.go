package handoff

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"crawlnode/crawl"
	"crawlnode/ring"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into the scripts")

// A script is lines of commands; below each stands, indented, what the machine
// ordered. The members of the views are named a, b, c; the machine is a's, and
// partitions are named by their number in a table of four.
//
//	view 3 a b      install a view        loaded 0 holding 1   what the disk says
//	own             which partitions the table gives to a
//	copied 0 · frozen 0 · stored 0 · took 0 · refused 0 4 · broken 0 [later] · retry
//	offer 0 3 [released] · token 0 · done 0 · importbroken 0
//
// The number of the running attempt is filled in; "stale" in front of a command
// gives the attempt before.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

func runScript(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	m := NewMachine("a", 4, Limits{Out: 2, In: 2})
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		if line == "own" {
			fmt.Fprintf(&out, "\t%v\n", m.table.OwnedBy("a"))
			continue
		}
		before := m.State(partitionIn(line))
		for _, a := range m.Step(parseEvent(t, m, line)) {
			fmt.Fprintf(&out, "\t%s\n", describe(a))
		}
		checkMachine(t, m)
		if after := m.State(partitionIn(line)); after != before && !strings.HasPrefix(line, "view") && line != "retry" {
			fmt.Fprintf(&out, "\t-> %s\n", after)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := out.String(), string(raw); got != want {
		t.Errorf("%s: the machine does something else; look at `go test ./handoff -rewrite` and git diff. Got:\n%s", file, got)
	}
}

func partitionIn(line string) crawl.Partition {
	for _, w := range strings.Fields(line)[1:] {
		if n, err := strconv.Atoi(w); err == nil && n < 4 {
			return crawl.Partition(n)
		}
	}
	return 0
}

func parseEvent(t *testing.T, m *Machine, line string) Event {
	t.Helper()
	w := strings.Fields(line)
	var back uint64
	if w[0] == "stale" {
		back, w = 1, w[1:]
	}
	num := func(i int) uint64 {
		n, err := strconv.ParseUint(w[i], 10, 16)
		if err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		return n
	}
	if w[0] == "view" {
		v := ViewInstalled{View: crawl.Epoch(num(1))}
		ids := make([]crawl.NodeID, 0, 3)
		for _, id := range w[2:] {
			ids = append(ids, crawl.NodeID(id))
		}
		if len(ids) > 0 {
			table, err := ring.Build(ids, 4, 1)
			if err != nil {
				t.Fatal(err)
			}
			v.Table = table
		}
		return v
	}
	if w[0] == "retry" {
		return Retry{}
	}
	p := crawl.Partition(num(1))
	attempt := m.parts[p].attempt - back
	reply := make(chan Answer, 1)
	switch w[0] {
	case "loaded":
		if w[2] == "released" { // loaded 0 released to b 2
			return Loaded{P: p, State: Released, MaxEpoch: 1, To: crawl.NodeID(w[4]), View: crawl.Epoch(num(5))}
		}
		return Loaded{P: p, State: Holding, MaxEpoch: crawl.Epoch(num(3))}
	case "copied":
		return Copied{p, attempt}
	case "frozen":
		return Frozen{p, attempt}
	case "stored":
		return ReleaseStored{p, attempt}
	case "took":
		return Took{p, attempt}
	case "refused":
		return RefusedNewer{p, attempt, crawl.Epoch(num(2))}
	case "broken":
		return Broken{P: p, Attempt: attempt, Later: len(w) > 2}
	case "offer":
		return Offered{P: p, View: crawl.Epoch(num(2)), Released: len(w) > 3, Reply: reply}
	case "token":
		return TokenArrived{p, attempt, reply}
	case "done":
		return ImportDone{p, attempt, m.view, reply}
	case "importbroken":
		return ImportBroken{p, attempt}
	}
	t.Fatalf("unknown command %q", line)
	return nil
}

func describe(a Action) string {
	switch a := a.(type) {
	case StartCopy:
		return fmt.Sprintf("start copy %d to %s, view %d, released %v", a.P, a.To, a.View, a.Released)
	case StoreReleased:
		return fmt.Sprintf("store released %d to %s, view %d", a.P, a.To, a.View)
	case Answer:
		kind := [...]string{"", "go on", "took", "refused", "later"}[a.Reply.Kind]
		return strings.TrimSuffix(fmt.Sprintf("answer %s, view %d: %s", kind, a.Reply.View, a.Reply.Reason), ": ")
	case CommitImport:
		return fmt.Sprintf("commit import %d, epoch %d", a.P, a.Epoch)
	case Acquired:
		return fmt.Sprintf("acquired %d, epoch %d", a.P, a.Epoch)
	case AbortCopy:
		return fmt.Sprintf("abort copy %d", a.P)
	case Freeze:
		return fmt.Sprintf("freeze %d", a.P)
	case Resume:
		return fmt.Sprintf("resume %d", a.P)
	case PassToken:
		return fmt.Sprintf("pass token %d", a.P)
	case StoreHolder:
		return fmt.Sprintf("store holder %d", a.P)
	case Delete:
		return fmt.Sprintf("delete %d", a.P)
	case BeginImport:
		return fmt.Sprintf("begin import %d", a.P)
	case AbortImport:
		return fmt.Sprintf("abort import %d", a.P)
	}
	return fmt.Sprintf("%T", a)
}

// checkMachine holds the machine's own books against its states.
func checkMachine(t *testing.T, m *Machine) {
	t.Helper()
	out, in := 0, 0
	for i := range m.parts {
		p := &m.parts[i]
		switch p.state {
		case Copying, Freezing:
			if !p.running {
				t.Fatalf("partition %d is %v and no attempt runs", i, p.state)
			}
			out++
		case Released:
			if p.running {
				out++
			}
		case Importing:
			in++
		}
	}
	if out != m.out || in != m.in {
		t.Fatalf("the machine counts %d out and %d in, its states say %d and %d", m.out, m.in, out, in)
	}
	if out > m.limits.Out || in > m.limits.In {
		t.Fatalf("%d out and %d in, beyond the limits %+v", out, in, m.limits)
	}
}
