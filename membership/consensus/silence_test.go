package consensus

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// TestApart cuts links at random, both ways or one, but never so many that
// more than half cannot hear a member: no view may follow, although messages are
// late and lost. Then one member is cut off from more than half. It is dropped
// once, and the others that hear it do not admit it.
func TestApart(t *testing.T) {
	t.Parallel()
	walks(t, func(t *testing.T, seed uint64) {
		s := &script{t: t, cores: map[crawl.NodeID]*Core{}, disks: map[crawl.NodeID]State{}, world: newWorld()}
		s.world.quiet, s.world.rnd = true, rand.New(rand.NewPCG(seed, 3))
		ids := []crawl.NodeID{"a", "b", "c", "d", "e", "f"}[:3+seed%4]
		if s.wander(ids); t.Failed() {
			t.Fatalf("%d nodes:\n%s\nrepeat with: go test ./membership/consensus -run TestApart -membership.seed %d", len(ids), strings.Join(s.out, "\n"), seed)
		}
	})
}

func (s *script) wander(ids []crawl.NodeID) {
	w := s.world
	s.run([]string{"found", "a"})
	for _, id := range ids[1:] {
		s.run([]string{"start", string(id), "1"})
	}
	s.run([]string{"pass", "15s"})
	before := s.cores["a"].View()
	for range 4 {
		s.cutLoosely(ids)
		s.run([]string{"pass", "30s"})
		for _, id := range ids {
			if v := s.cores[id].View(); v.Digest() != before.Digest() {
				s.t.Errorf("%s has installed %s after %s", id, v, before)
			}
		}
	}
	clear(w.cuts)
	lonely, cut := ids[len(ids)-1], len(ids)/2+1
	for _, other := range ids[:cut] {
		s.run([]string{"cut", string(lonely), string(other)})
	}
	s.run([]string{"pass", "60s"})
	if v := s.cores["a"].View(); v.Number != before.Number+1 || len(v.Members) != len(ids)-1 {
		s.t.Errorf("%s does not reach %d of %d others: %s after %s", lonely, cut, len(ids)-1, v, before)
	}
}

// cutLoosely heals all, and then cuts links in random order, each while at most
// half of the members do not hear any one.
func (s *script) cutLoosely(ids []crawl.NodeID) {
	w := s.world
	clear(w.cuts)
	deafTo := map[crawl.NodeID]int{}
	for range 3 * len(ids) {
		a, b := ids[w.rnd.IntN(len(ids))], ids[w.rnd.IntN(len(ids))]
		if a == b || !s.linked(a, b) || 2*(deafTo[a]+1) > len(ids) || 2*(deafTo[b]+1) > len(ids) {
			continue
		}
		how := "cut"
		if deafTo[a]++; w.rnd.IntN(3) == 0 {
			how = "mute"
		} else {
			deafTo[b]++
		}
		s.out = append(s.out, fmt.Sprintf("%v: %s %s %s", w.now, how, a, b))
		s.run([]string{how, string(a), string(b)})
	}
}

// TestDenial: a wish that somebody shares is repeated soon, but not for ever.
func TestDenial(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		company string // of each attempt: y or n; a capital is a later promise of the same one
		want    string // ticks to the next attempt
	}{
		{"nnnnn", "10 50 100 100 100"},
		{"yyyyyyy", "10 10 10 10 10 100 100"},
		{"nYnYnN", "10 10 50 10 100 100"},
		{"nny", "10 50 10"},
	} {
		var d denial
		var got []string
		now := 1000
		for _, r := range c.company {
			d = d.put(now, r == 'Y' || r == 'N', r == 'y' || r == 'Y')
			got = append(got, fmt.Sprint(d.until-now))
			now += 7
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: waits %v, want %s", c.company, got, c.want)
		}
	}
}

// TestOpinions: a member is dropped by more than half of those that are asked,
// a node is admitted by half, and of an old promise nothing is believed.
func TestOpinions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		members, voters, silent, forgotten string // ids; of the voters, who finds x silent
		age                                int
		drop, admit                        bool
	}{
		{"abcde", "abc", "abc", "", 0, true, false},
		{"abcde", "abc", "ab", "", 0, false, false},
		{"abcde", "abcd", "ab", "", 0, false, false},
		{"abcde", "abcd", "a", "", 0, false, true},
		{"abcde", "abcd", "abd", "", opinionTicks, true, false},
		{"abcde", "abcd", "abd", "", opinionTicks + 1, false, false},
		{"abcde", "abcd", "", "", opinionTicks + 1, false, false},
		{"abcd", "abc", "ab", "", 0, false, false},
		{"abcd", "abc", "a", "", 0, false, true},
		{"abcd", "abc", "abc", "", 0, true, false},
		{"abcd", "abc", "ab", "d", 0, true, false},
		{"abcd", "ab", "ab", "d", 0, true, false},
		{"abcd", "abd", "ad", "d", 0, false, false},
		{"ab", "ab", "a", "", 0, false, true},
		{"ab", "ab", "ab", "", 0, true, false},
		{"a", "a", "", "", 0, false, true},
	} {
		v := &View{Number: 1, Cluster: testCluster}
		for _, r := range c.members {
			v.Members = append(v.Members, Member{ID: crawl.NodeID(r), Name: "n" + string(r), Boot: 1, Since: 1})
		}
		state := State{View: v}
		for _, r := range c.forgotten {
			state.Forgotten = append(state.Forgotten, crawl.NodeID(r))
		}
		core := New(Identity{ID: "a", Boot: 1, Cluster: testCluster}, state)
		core.ticks = c.age
		p := &proposal{promises: map[crawl.NodeID]crawl.Boot{}, silent: map[crawl.NodeID][]crawl.NodeID{}}
		for _, r := range c.voters {
			p.promises[crawl.NodeID(r)] = 1
		}
		for _, r := range c.silent {
			p.silent[crawl.NodeID(r)] = []crawl.NodeID{"w", "x"}
		}
		if o := core.opinions(p, "x"); o.drop() != c.drop || o.admit() != c.admit {
			t.Errorf("%+v: drop %v, admit %v", c, o.drop(), o.admit())
		}
	}
}
