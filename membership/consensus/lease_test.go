package consensus

import (
	"testing"
	"time"

	"crawlnode/crawl"
)

func leaseView(number, since crawl.Epoch, ids string) *View {
	v := &View{Number: number, Cluster: testCluster}
	for _, r := range ids {
		v.Members = append(v.Members, Member{ID: crawl.NodeID(r), Boot: 1, Since: since})
	}
	return v
}

func TestLeaseNeedsHalf(t *testing.T) {
	t.Parallel()
	for members, need := range map[string]int{"a": 0, "ab": 0, "abc": 1, "abcd": 1, "abcde": 2, "abcdef": 2} {
		l := NewLease("a", 1, false)
		l.Install(leaseView(1, 1, members), false, 0)
		granted := 0
		for i, from := range members[1:] {
			if got := l.Until(10*time.Second) > 10*time.Second; got != (granted >= need) {
				t.Errorf("%s: %d grants of others: leased %v", members, granted, got)
			}
			// The further request was sent earlier: it is the oldest that counts.
			l.Grant(1, crawl.NodeID(from), 9*time.Second-time.Duration(i)*time.Second, 10*time.Second)
			granted++
		}
		if need > 0 {
			want := 9*time.Second - time.Duration(need-1)*time.Second + LeaseTime
			if got := l.Until(10 * time.Second); got != want {
				t.Errorf("%s: ends at %v, want %v", members, got, want)
			}
		}
	}
}

func TestLease(t *testing.T) {
	t.Parallel()
	const s = time.Second
	three := leaseView(5, 1, "abc")
	for _, c := range []struct {
		name string
		do   func(l *Lease)
		want time.Duration // the end as it stands at 20 s; 0: none
	}{
		{"granted", func(*Lease) {}, 27 * s},
		{"an older grant later", func(l *Lease) { l.Grant(5, "b", 3*s, 20*s) }, 27 * s},
		{"a newer one", func(l *Lease) { l.Grant(5, "c", 20*s, 20*s) }, 28 * s},
		{"a request of the future", func(l *Lease) { l.Grant(5, "c", 21*s, 20*s) }, 27 * s},
		{"a grant in another view", func(l *Lease) { l.Grant(4, "c", 20*s, 20*s) }, 27 * s},
		{"a grant of a stranger", func(l *Lease) { l.Grant(5, "z", 20*s, 20*s) }, 27 * s},
		{"a grant of its own", func(l *Lease) { l.Grant(5, "a", 20*s, 20*s) }, 27 * s},
		{"accepted", func(l *Lease) { l.Accept(15 * s) }, 23 * s},
		{"accepted twice", func(l *Lease) { l.Accept(15 * s); l.Accept(19 * s) }, 23 * s},
		{"a view that keeps it", func(l *Lease) { l.Install(leaseView(6, 1, "abcd"), false, 20*s) }, 27 * s},
		{"accepted, then installed", func(l *Lease) { l.Accept(15 * s); l.Install(leaseView(6, 1, "abcd"), false, 20*s) }, 23 * s},
		{"a view that drops it", func(l *Lease) { l.Install(leaseView(6, 1, "bc"), false, 20*s) }, 0},
		{"dropped and back", func(l *Lease) {
			l.Install(leaseView(6, 1, "bc"), false, 20*s)
			l.Install(leaseView(7, 1, "abc"), false, 20*s)
		}, 0},
		{"dropped and back in views it has skipped", func(l *Lease) { l.Install(leaseView(8, 7, "abc"), false, 20*s) }, 0},
		{"a view with another boot of it", func(l *Lease) {
			v := leaseView(6, 1, "abc")
			v.Members[0].Boot = 2
			l.Install(v, false, 20*s)
		}, 0},
		{"the wall clock jumps", func(l *Lease) { l.End(20 * s) }, 0},
		{"and a request from before is granted", func(l *Lease) { l.End(20 * s); l.Grant(5, "b", 19*s, 20*s) }, 0},
		{"and a later one", func(l *Lease) { l.End(20 * s); l.Grant(5, "b", 20*s, 20*s) }, 28 * s},
		{"it jumps after an acceptance", func(l *Lease) { l.Accept(19 * s); l.End(20 * s); l.Grant(5, "b", 20*s, 20*s) }, 0},
	} {
		l := NewLease("a", 1, false)
		l.Install(three, false, 10*s)
		l.Grant(5, "b", 19*s, 20*s)
		c.do(l)
		got := l.Until(20 * s)
		if c.want == 0 && got > 20*s || c.want != 0 && got != c.want {
			t.Errorf("%s: ends at %v, want %v", c.name, got, c.want)
		}
	}
}

func TestLeaseAtStart(t *testing.T) {
	t.Parallel()
	l := NewLease("a", 2, false)
	if l.Until(time.Second) > time.Second {
		t.Error("leased without a view")
	}
	l.Install(leaseView(1, 1, "a"), false, 0)
	if l.Until(time.Second) > time.Second {
		t.Error("a boot that no view lists is leased")
	}
	free := NewLease("a", 1, true)
	if free.Until(0) > 0 {
		t.Error("leased without a view, with the quorum off")
	}
	free.Install(leaseView(1, 1, "abc"), true, 0)
	if free.Until(time.Hour) <= time.Hour {
		t.Error("not leased with the quorum off")
	}
}
