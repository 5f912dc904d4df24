package machine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"crawlnode/crawl"
)

// A script of a series is lines of commands; what follows is indented below each. A copy is written
// epoch.sequence.
//
//	hold 1 3.10 own 12    the copy of generation 1 is held, and b may fall behind from here on
//	behind b 3 0..14      what is proved of b's copy
//	follow 3.11 · adopt 3.14 5 · promote 5.20 7 · trim 12
//	resume 1 7.18 held|copy     a new process finds this on the disk
//	copy b 7 3.12         how b's copy goes on under tenure 7
//	equal b 3.13          what a copy is worth that has as many mutations as this one
func TestSeriesScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/series/*.txt")
	if err != nil || len(files) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, f := range files {
		raw, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		s := &seriesScript{t: t}
		for line := range strings.Lines(string(raw)) {
			line = strings.TrimRight(line, "\n")
			if strings.HasPrefix(line, "\t") {
				continue
			}
			out.WriteString(line + "\n")
			if line != "" && !strings.HasPrefix(line, "#") {
				fmt.Fprintf(&out, "\t%s\n", s.run(strings.Fields(line)))
			}
		}
		if *rewrite {
			if err := os.WriteFile(f, out.Bytes(), 0o644); err != nil {
				t.Fatal(err)
			}
		} else if out.String() != string(raw) {
			t.Errorf("%s: it is now\n%s", f, out.String())
		}
	}
}

type seriesScript struct {
	t *testing.T
	s Series
}

func (x *seriesScript) run(w []string) string {
	over := func(ok bool) string {
		if !ok {
			return "over"
		}
		return fmt.Sprintf("%d..%d of epoch %d", x.s.Base, x.s.Last, x.s.Epoch)
	}
	switch w[0] {
	case "hold":
		at := x.found(w[2])
		at.Generation, at.Held = uint32(x.number(w[1])), true
		x.s = BeginSeries(at, crawl.Seq(x.number(w[4])))
		return over(true)
	case "behind":
		from, to, _ := strings.Cut(w[3], "..")
		x.s.Behind[crawl.NodeID(w[1])] = Proof{Epoch: crawl.Epoch(x.number(w[2])), From: crawl.Seq(x.number(from)), To: crawl.Seq(x.number(to))}
		return fmt.Sprint(x.s.Behind)
	case "follow":
		at := x.found(w[1])
		_, ok := x.s.Follow(at.Epoch, at.Seq)
		return over(ok)
	case "adopt":
		at := x.found(w[1])
		return over(x.s.Adopt(at.Epoch, at.Seq, crawl.Epoch(x.number(w[2]))))
	case "promote":
		at := x.found(w[1])
		return over(x.s.Promote(at.Epoch, at.Seq, crawl.Epoch(x.number(w[2]))))
	case "trim":
		x.s.Trim(crawl.Seq(x.number(w[1])))
		return over(len(x.s.Behind) > 0)
	case "resume":
		at := x.found(w[2])
		at.Generation, at.Held = uint32(x.number(w[1])), w[3] == "held"
		x.s = x.s.Clone()
		return over(x.s.Resume(at)) + " " + fmt.Sprint(x.s.Behind)
	case "equal":
		if x.s.Doubts(crawl.NodeID(w[1]), x.found(w[2])) {
			return "doubtful"
		}
		return "the same"
	case "copy":
		return [...]string{"a snapshot", "the tail", "the tenure, then the tail"}[x.s.Continues(crawl.NodeID(w[1]), crawl.Epoch(x.number(w[2])), x.found(w[3]))]
	}
	x.t.Fatalf("unknown command %q", w)
	return ""
}

func (x *seriesScript) found(s string) Found {
	epoch, seq, _ := strings.Cut(s, ".")
	return Found{Epoch: crawl.Epoch(x.number(epoch)), Seq: crawl.Seq(x.number(seq))}
}

func (x *seriesScript) number(s string) uint64 {
	n, err := strconv.ParseUint(s, 10, 64)
	if err != nil {
		x.t.Fatal(err)
	}
	return n
}
