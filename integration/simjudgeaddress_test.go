package integration

import (
	"net/netip"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// TestJudgeOfAddresses: a request of a node that cannot know that its machine stood still is not
// judged, and neither is the next one of another node, which cannot know of it.
func TestJudgeOfAddresses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		blind string // the node that cannot know
		want  string // the paths that are blamed
	}{
		{"all know", "", "/b /c"},
		{"the first cannot", "n1", ""},
		{"the second cannot", "n2", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				h := &treeHost{name: "h1.test", addr: netip.MustParseAddr("127.0.0.4")}
				j := newSimJudge(&treeWeb{hosts: []*treeHost{h}})
				j.spaced = 100 * time.Millisecond
				if c.blind != "" {
					j.early(c.blind, time.Now(), time.Now().Add(time.Second))
				}
				for _, r := range []struct{ who, path string }{{"n1", "/a"}, {"n2", "/b"}, {"n1", "/c"}} {
					j.judgeAddress(h,
						&simRequest{path: r.path, who: r.who, start: time.Now(), blind: j.isBlind(r.who, time.Now())})
					time.Sleep(60 * time.Millisecond)
				}
				var blamed []string
				for _, v := range j.verdicts() {
					blamed = append(blamed, strings.Fields(v)[4])
				}
				if got := strings.Join(blamed, " "); got != c.want {
					t.Errorf("blamed are %q, want %q: %v", got, c.want, j.verdicts())
				}
			})
		})
	}
}
