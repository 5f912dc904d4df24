package consensus

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"crawlnode/crawl"
)

var rewrite = flag.Bool("rewrite", false, "write the scripts' output as it is now into testdata")

// TestScripts runs the scripts of testdata. A script is blocks of command
// lines, a line "----", and the expected output up to an empty line:
//
//	found a            a makes view 1
//	start b 2          b (re)starts with boot 2 and what it had persisted
//	crash b            b loses all that it had not persisted
//	see a a/1/active b/2/joining[/name[/weight/zone/changes]]   the nodes in sight of a, heard just now
//	tick a 3           three ticks, the random number is 0
//	deliver [a>b]      messages in order, with those that they cause
//	drop [a>b]         the same messages get lost
//	views              the installed view of each node
//	dead a b 1         a has proof that boot 1 of b is dead
//	forget a b         an operator makes a forget b
//	woken a            a stood still
//
// and those of a world (world_test.go), in which gossip, messages and leases
// run by themselves:
//
//	quiet              from now on, show installs and takings only
//	quorum-off         nodes started from now on need none
//	pass 3s            time passes
//	cut a b c, heal a b c    links of a to b and c
//	mute a b c         nothing that a sends arrives at b and c
//	stop a, cont a     SIGSTOP and SIGCONT
//	weigh a 4 east     a changes its weight and its zone
//	lose decided, keep decided    all messages of a kind
//	hold a             a holds the partition p
//	fetchers, leases, fences
func TestScripts(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("testdata/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			t.Parallel()
			raw, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &script{t: t, cores: map[crawl.NodeID]*Core{}, disks: map[crawl.NodeID]State{}, world: newWorld()}
			var out []string
			for block := range strings.SplitSeq(strings.TrimSpace(string(raw)), "\n\n") {
				commands, _, _ := strings.Cut(block+"\n", "----\n")
				s.out = nil
				for line := range strings.SplitSeq(strings.TrimSpace(commands), "\n") {
					if line != "" && !strings.HasPrefix(line, "#") {
						s.run(strings.Fields(line))
					}
				}
				out = append(out, strings.TrimSpace(commands)+"\n----\n"+strings.Join(s.out, "\n"))
			}
			got := strings.Join(out, "\n\n") + "\n"
			if *rewrite {
				if err := os.WriteFile(file, []byte(got), 0o644); err != nil {
					t.Fatal(err)
				}
			} else if got != string(raw) {
				t.Errorf("%s gives\n%s\ninstead of\n%s\n(go test -run TestScripts -rewrite keeps the new output)", file, got, raw)
			}
		})
	}
}

type script struct {
	t     *testing.T
	cores map[crawl.NodeID]*Core
	disks map[crawl.NodeID]State
	queue []Message
	out   []string
	world *world
}

func (s *script) run(words []string) {
	if s.command(words) {
		return
	}
	id := crawl.NodeID("")
	if len(words) > 1 {
		id = crawl.NodeID(words[1])
	}
	switch words[0] {
	case "found":
		s.start(id, 1)
		s.step(id, Founded{&View{Number: 1, Cluster: testCluster, Members: []Member{{ID: id, Name: "n" + string(id), Boot: 1, Since: 1}}}})
	case "start":
		s.start(id, crawl.Boot(s.number(words[2])))
	case "crash":
		delete(s.cores, id)
	case "dead":
		s.step(id, Dead{crawl.NodeID(words[2]), crawl.Boot(s.number(words[3]))})
	case "forget":
		s.step(id, Forget{crawl.NodeID(words[2])})
	case "woken":
		s.step(id, Woken{})
	case "see":
		nodes := s.sightings(words[2:])
		for _, n := range nodes {
			s.step(id, Heard{n.ID, n.Boot})
		}
		s.step(id, Seen{nodes})
	case "tick":
		for range s.number(words[2]) {
			s.step(id, Tick{})
		}
	case "deliver", "drop":
		s.deliver(words[0] == "deliver", strings.Join(words[1:], ""))
	case "views":
		for _, id := range slices.Sorted(mapsKeys(s.cores)) {
			s.out = append(s.out, fmt.Sprintf("%s %s", id, s.cores[id].View()))
		}
	default:
		s.t.Fatalf("unknown command %v", words)
	}
}

func (s *script) number(word string) int {
	n, err := strconv.Atoi(word)
	if err != nil {
		s.t.Fatal(err)
	}
	return n
}

func (s *script) start(id crawl.NodeID, boot crawl.Boot) {
	state := s.disks[id]
	s.cores[id] = New(Identity{ID: id, Boot: boot, Cluster: unknownCluster, QuorumOff: s.world.off}, state)
	me := &inhabitant{name: "n" + string(id), boot: boot, lease: NewLease(id, boot, s.world.off), rate: 1}
	if state.View != nil {
		me.lease.Install(state.View, state.AcceptedView != nil, 0)
	}
	if old := s.world.nodes[id]; old != nil {
		me.holds = old.holds // it is on the disk
		me.place = Place{Weight: old.place.Weight, Zone: old.place.Zone}
	}
	s.world.nodes[id] = me
}

func (s *script) sightings(words []string) []Sighting {
	var out []Sighting
	for _, word := range words {
		parts := strings.Split(word, "/")
		n := Sighting{ID: crawl.NodeID(parts[0]), Name: "n" + parts[0], Boot: crawl.Boot(s.number(parts[1]))}
		n.Status = Status(slices.Index(statusNames[:], parts[2]))
		if len(parts) > 3 {
			n.Name = parts[3]
		}
		if len(parts) > 6 {
			n.Place = Place{Weight: s.number(parts[4]), Zone: parts[5], Changes: uint32(s.number(parts[6]))}
		}
		out = append(out, n)
	}
	return out
}

func (s *script) step(id crawl.NodeID, e Event) {
	core := s.cores[id]
	if core == nil {
		return // crashed
	}
	for _, a := range core.Step(e) {
		s.follow(id, a)
		if _, install := a.(Install); s.world.quiet && !install {
			s.silently(id, a)
			continue
		}
		switch a := a.(type) {
		case Persist:
			s.disks[id] = a.State
			s.out = append(s.out, fmt.Sprintf("%s persist promised=%s accepted=%s %s", id, showBallot(a.State.Promised), showBallot(a.State.Accepted), a.State.AcceptedView))
		case Install:
			at := ""
			if s.world.quiet {
				at = fmt.Sprintf("%v: ", s.world.now)
			}
			s.out = append(s.out, fmt.Sprintf("%s%s install %s skipped=%v", at, id, a.View, a.Skipped))
		case Send:
			s.queue = append(s.queue, a.Message)
			s.out = append(s.out, fmt.Sprintf("%s>%s %s", id, a.Message.To, showMessage(a.Message)))
		}
	}
}

// silently carries an action out and shows nothing.
func (s *script) silently(id crawl.NodeID, a Action) {
	switch a := a.(type) {
	case Persist:
		s.disks[id] = a.State
	case Send:
		s.queue = append(s.queue, a.Message)
	}
}

// deliver empties the queue of the messages of one direction, or of all with
// those that they cause.
func (s *script) deliver(arrive bool, direction string) {
	for range 1000 {
		i := slices.IndexFunc(s.queue, func(m Message) bool { return direction == "" || string(m.From+">"+m.To) == direction })
		if i < 0 {
			return
		}
		m := s.queue[i]
		s.queue = slices.Delete(s.queue, i, i+1)
		if arrive {
			s.step(m.To, Received{m})
		}
	}
	s.t.Fatal("the messages never end")
}

func showBallot(b Ballot) string {
	if b == (Ballot{}) {
		return "-"
	}
	return fmt.Sprintf("%d.%s", b.Round, b.Node)
}

func showDelta(d *Delta) string {
	out := fmt.Sprintf("view %d told by what changes in %d:", d.Base+1, d.Base)
	for _, m := range d.Put {
		out += fmt.Sprintf(" +%s/%d", m.ID, m.Boot)
	}
	for _, id := range d.Gone {
		out += " -" + string(id)
	}
	for _, id := range d.Barred {
		out += " barred " + string(id)
	}
	return out
}

func showMessage(m Message) string {
	out := fmt.Sprintf("%s at %d", m.Kind, m.Number)
	if m.Ballot != (Ballot{}) {
		out += " " + showBallot(m.Ballot)
	}
	if m.Accepted != (Ballot{}) {
		out += " accepted " + showBallot(m.Accepted)
	}
	if m.View != nil {
		out += " " + m.View.String()
	}
	if m.Delta != nil {
		out += " " + showDelta(m.Delta)
	}
	return out
}
