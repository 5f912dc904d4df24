//race:none

package machine

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

var rewrite = flag.Bool("rewrite", false, "write what the machine does into the scripts")

// A script is lines of commands; below each stands, indented, what the machine
// ordered. The machine is a's, of four partitions that are named by their number.
//
//	factor 2 · own (what the table gives to a, and who follows)
//	loaded 0 holding 1 [a b] · loaded 0 released 1 to b 2 [a b] · loaded 0 absent 1
//	view 3 a b c-           c is draining; also: fenced, since=3, unlisted, barred=x, at=20s
//	copying|follows|up|down|ahead 0 b · recorded 0 · frozen 0 · stored 0 · took 0
//	refused 0 4 · broken 0 [later|nocopy] · token 0 3 1 [a b] · promoted 0 [fails]
//	asked 3 0 1 · answer b 0 holds|copy=1.7|suspect=1.7|max=2|set=1.3/1.a,b|past=2.a,b · over 20s
//	arrived 0 3 · useless 3 b 0 1 · retry [20s]
//
// The number of the running attempt is filled in; "stale" in front of a command
// gives another.
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		t.Run(strings.TrimSuffix(filepath.Base(f), ".txt"), func(t *testing.T) { runScript(t, f) })
	}
}

// script is one machine and what it waits for.
type script struct {
	t        *testing.T
	m        *Machine
	factor   int
	recorded map[crawl.Partition]Set
	promote  map[crawl.Partition]Promote
	answers  map[crawl.NodeID]map[crawl.Partition]Answer
	past     []PastView
}

func runScript(t *testing.T, file string) {
	raw, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	s := &script{t: t, m: New("a", 4, 2, Limits{Out: 2}), factor: 2, recorded: map[crawl.Partition]Set{},
		promote: map[crawl.Partition]Promote{}, answers: map[crawl.NodeID]map[crawl.Partition]Answer{}}
	for line := range strings.Lines(string(raw)) {
		line = strings.TrimRight(line, "\n")
		if strings.HasPrefix(line, "\t") {
			continue
		}
		out.WriteString(line + "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		s.run(line, &out)
		if err := s.m.Check(); err != nil {
			t.Fatal(err)
		}
	}
	if *rewrite {
		if err := os.WriteFile(file, out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if got, want := out.String(), string(raw); got != want {
		t.Errorf("%s: the machine does something else; look at `go test ./handoff/machine -rewrite` and git diff. Got:\n%s", file, got)
	}
}

func (s *script) run(line string, out *bytes.Buffer) {
	w := strings.Fields(line)
	switch w[0] {
	case "factor":
		s.factor = int(s.num(w[1]))
		s.m = New("a", 4, s.factor, Limits{Out: 2})
		return
	case "own":
		for p := range crawl.Partition(4) {
			fmt.Fprintf(out, "\t%d: %s %v\n", p, s.m.table.Owner(p), s.m.table.Replicas(p))
		}
		return
	case "answer":
		s.answer(w)
		return
	}
	before := s.states()
	events := s.parse(line, w)
	for _, e := range events {
		for _, a := range s.m.Step(e) {
			fmt.Fprintf(out, "\t%s\n", describe(a))
			switch a := a.(type) {
			case Record:
				s.recorded[a.P] = a.Set
			case Promote:
				s.promote[a.P] = a
			}
		}
	}
	for _, p := range s.m.ask.parts {
		if x := &s.m.parts[p]; w[0] == "over" && x.offline != "" && !strings.Contains(x.offline, "has not answered") {
			fmt.Fprintf(out, "\toffline %d: %s\n", p, x.offline)
		}
	}
	for p, state := range s.states() {
		if state != before[p] {
			fmt.Fprintf(out, "\t-> %d %s\n", p, state)
		}
	}
}

func (s *script) states() []State {
	var out []State
	for i := range s.m.parts {
		out = append(out, s.m.parts[i].state)
	}
	return out
}

func (s *script) num(w string) uint64 {
	n, err := strconv.ParseUint(w, 10, 64)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

// version reads view/number.
func (s *script) version(w string) uint64 {
	view, n, _ := strings.Cut(w, "/")
	return s.num(view)<<32 | s.num(n)
}

func (s *script) time(w string) time.Duration {
	d, err := time.ParseDuration(w)
	if err != nil {
		s.t.Fatal(err)
	}
	return d
}

func ids(w []string) []crawl.NodeID {
	var out []crawl.NodeID
	for _, id := range w {
		if id = strings.Trim(id, "[],"); id != "" {
			out = append(out, crawl.NodeID(id))
		}
	}
	return out
}

func (s *script) view(w []string) ViewInstalled {
	v := ViewInstalled{View: crawl.Epoch(s.num(w[1])), Listed: true}
	var active []crawl.NodeID
	for _, x := range w[2:] {
		key, value, _ := strings.Cut(x, "=")
		id := crawl.NodeID(strings.TrimSuffix(x, "-"))
		switch {
		case key == "fenced":
			v.Fence = 9400 * time.Millisecond
		case key == "unlisted":
			v.Listed = false
		case key == "since":
			v.Since = crawl.Epoch(s.num(value))
		case key == "barred":
			v.Barred = append(v.Barred, crawl.NodeID(value))
		case key == "at":
			v.Now = s.time(value)
		default:
			v.Members = append(v.Members, id)
			if !strings.HasSuffix(x, "-") {
				active = append(active, id)
			}
		}
	}
	if len(active) > 0 {
		table, err := ring.Build(ring.Equals(active), 4, s.factor-1)
		if err != nil {
			s.t.Fatal(err)
		}
		v.Table = table
	}
	return v
}

func (s *script) answer(w []string) {
	a := Answer{P: crawl.Partition(s.num(w[2]))}
	for _, x := range w[3:] {
		key, value, _ := strings.Cut(x, "=")
		v := strings.Split(value, ".")
		switch key {
		case "holds":
			a.Holds = true
		case "copy", "suspect", "unsure":
			a.Copy, a.Suspect, a.Unsure = true, key == "suspect", key == "unsure"
			a.Epoch, a.Seq = crawl.Epoch(s.num(v[0])), crawl.Seq(s.num(v[1]))
		case "max":
			a.MaxEpoch = crawl.Epoch(s.num(v[0]))
		case "set":
			a.Set = Set{Epoch: crawl.Epoch(s.num(v[0])), Version: s.version(v[1]), Members: ids(strings.Split(v[2], ","))}
		case "past":
			s.past = append(s.past, PastView{crawl.Epoch(s.num(v[0])), ids(strings.Split(v[1], ","))})
		}
	}
	id := crawl.NodeID(w[1])
	if s.answers[id] == nil {
		s.answers[id] = map[crawl.Partition]Answer{}
	}
	s.answers[id][a.P] = a
}

// over gives the answers that were heard for the partitions that were asked for.
func (s *script) over(now time.Duration) []Event {
	var out []Event
	for _, id := range s.m.ask.members {
		if s.answers[id] == nil {
			continue
		}
		e := Answered{Attempt: s.m.ask.attempt, From: id, Answers: []Answer{}, Past: s.past}
		for _, p := range s.m.ask.parts {
			a, ok := s.answers[id][p]
			if !ok {
				a = Answer{P: p, Holds: true} // scripts are about one partition at a time
			}
			e.Answers = append(e.Answers, a)
		}
		out = append(out, e)
	}
	clear(s.answers)
	s.past = nil
	return append(out, AskOver{Attempt: s.m.ask.attempt, Now: now})
}

func (s *script) parse(line string, w []string) []Event {
	stale := w[0] == "stale"
	if stale {
		w = w[1:]
	}
	switch w[0] {
	case "view":
		return []Event{s.view(w)}
	case "retry":
		e := Retry{Now: s.m.now}
		if len(w) > 1 {
			e.Now = s.time(w[1])
		}
		return []Event{e}
	case "over":
		if stale {
			return []Event{AskOver{Attempt: s.m.ask.attempt - 1}}
		}
		return s.over(s.time(w[1]))
	case "asked", "useless":
		return []Event{s.asked(w)}
	}
	p := crawl.Partition(s.num(w[1]))
	x := &s.m.parts[p]
	attempt := x.attempt
	if stale {
		attempt--
	}
	if len(w) > 2 {
		if l := x.links[crawl.NodeID(w[2])]; l != nil {
			link := l.attempt
			if stale {
				link--
			}
			if e := linkEvent(w[0], p, crawl.NodeID(w[2]), link); e != nil {
				return []Event{e}
			}
		}
	}
	if e := linkEvent(w[0], p, "b", 999); e != nil {
		return []Event{e}
	}
	switch w[0] {
	case "loaded":
		return []Event{s.loaded(p, w)}
	case "recorded":
		r := s.recorded[p]
		if stale {
			r.Version--
		}
		return []Event{Recorded{P: p, Epoch: r.Epoch, Version: r.Version, View: s.m.view}}
	case "frozen":
		return []Event{Frozen{p, attempt}}
	case "stored":
		return []Event{ReleaseStored{p, attempt}}
	case "took":
		return []Event{Took{p, attempt}}
	case "refused":
		return []Event{RefusedNewer{p, attempt, crawl.Epoch(s.num(w[2]))}}
	case "broken":
		return []Event{Broken{P: p, Attempt: attempt, Later: slices.Contains(w, "later"), NoCopy: slices.Contains(w, "nocopy")}}
	case "token":
		return []Event{TokenArrived{P: p, View: crawl.Epoch(s.num(w[2])), Epoch: crawl.Epoch(s.num(w[3])), Seq: 7,
			Set: Set{Epoch: crawl.Epoch(s.num(w[3])), Version: 1, Members: ids(w[4:])}, Reply: make(chan Reply, 1)}}
	case "promoted":
		a, ok := s.promote[p]
		if !ok {
			s.t.Fatalf("%q: nothing was to be promoted", line)
		}
		delete(s.promote, p)
		return []Event{Promoted{Promote: a, OK: len(w) == 2}}
	case "arrived":
		return []Event{CopyArrived{p, crawl.Epoch(s.num(w[2]))}}
	}
	s.t.Fatalf("unknown command %q", line)
	return nil
}

func linkEvent(what string, p crawl.Partition, id crawl.NodeID, attempt uint64) Event {
	switch what {
	case "copying":
		return LinkCopying{p, id, attempt}
	case "follows":
		return LinkFollows{p, id, attempt}
	case "up":
		return LinkUp{p, id, attempt}
	case "down":
		return LinkDown{p, id, attempt}
	case "ahead":
		return LinkAhead{p, id, attempt}
	}
	return nil
}

func (s *script) loaded(p crawl.Partition, w []string) Event {
	e := Loaded{P: p, Epoch: crawl.Epoch(s.num(w[3])), MaxEpoch: crawl.Epoch(s.num(w[3]))}
	rest := w[4:]
	switch w[2] {
	case "holding":
		e.State = Holding
	case "released":
		e.State, e.To, e.View = Released, crawl.NodeID(w[5]), crawl.Epoch(s.num(w[6]))
		rest = w[7:]
	}
	if len(rest) > 0 {
		e.Set = Set{Epoch: e.Epoch, Version: 1, Members: ids(rest)}
	}
	return e
}

func (s *script) asked(w []string) Event {
	view := crawl.Epoch(s.num(w[1]))
	if w[0] == "asked" {
		e := Asked{View: view, Reply: make(chan Told, 1)}
		for _, x := range w[2:] {
			e.Parts = append(e.Parts, crawl.Partition(s.num(x)))
		}
		return e
	}
	e := UselessAsked{View: view, From: crawl.NodeID(w[2]), Reply: make(chan []crawl.Partition, 1)}
	for _, x := range w[3:] {
		e.Parts = append(e.Parts, UselessPart{crawl.Partition(s.num(x)), 1})
	}
	return e
}
