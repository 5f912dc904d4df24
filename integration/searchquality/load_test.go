//race:none

package searchquality

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"crawlnode/search/index"
)

var (
	syntheticPages = flag.Int("search.synthetic", 2000,
		"synthetic pages of TestLoad; 1000000 for the figures in docs/results/search.md")
	syntheticWords = flag.Int("search.words", 100, "words of the text of a synthetic page")
	hostileCount   = flag.Int("search.hostile", 200,
		"hostile questions of TestLoad; 5000 for the figures")
	strict = flag.Bool("search.strict", false,
		"TestLoad fails when a hostile question takes more than a second of the processor")
)

// TestLoad fills an index with synthetic pages, and asks ordinary and hostile questions: none is an
// error, and memory stays what it was. It logs times, memory and bytes at each tenth.
func TestLoad(t *testing.T) {
	s := NewZipf(50_000)
	if *preparedIn != "" {
		var docs []index.Document
		if err := Documents(*preparedIn, 5000,
			func(d []index.Document) error { docs = append(docs, d...); return nil }); err != nil {
			t.Fatal(err)
		}
		s = NewSynthetic(docs)
	}
	x, _, err := index.Open(t.TempDir(), index.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close()
	r := rand.New(rand.NewPCG(5, 6))
	n, began := *syntheticPages, time.Now()
	for i := 0; i < n; {
		var b index.Batch
		for ; i < n && len(b.Put) < 1000; i++ {
			b.Put = append(b.Put, s.Document(i, *syntheticWords))
		}
		if err := x.Apply(context.Background(), b); err != nil {
			t.Fatal(err)
		}
		if i*10/n > (i-len(b.Put))*10/n {
			t.Logf("%d pages after %v, %v of processor: %+v, memory %s", i,
				time.Since(began).Round(time.Second), processor().Round(time.Second), x.Size(), memory())
			t.Logf("  %s", asked(t, x, func() string { return s.Question(r, i, *syntheticWords) },
				min(200, 1+n/40)))
		}
	}
	for settled := x.Size(); ; settled = x.Size() { // what merges go on
		time.Sleep(time.Second / 4)
		if x.Size() == settled {
			break
		}
	}
	t.Logf("merged after %v, %v of processor: %+v", time.Since(began).Round(time.Second),
		processor().Round(time.Second), x.Size())
	t.Logf("ordinary: %s",
		asked(t, x, func() string { return s.Question(r, n, *syntheticWords) }, min(2000, 1+n/4)))
	t.Logf("by two at once: %.0f questions/s", together(t, x, s, n))
	before := heap()
	hostile := asked(t, x, func() string { return s.Hostile(r) }, *hostileCount)
	t.Logf("hostile: %s; heap before %d MB, after %d MB, memory %s", hostile, before>>20, heap()>>20,
		memory())
	if after := heap(); after > before+64<<20 {
		t.Errorf("the heap has grown from %d to %d MB", before>>20, after>>20)
	}
	if hostile.most > time.Second && *strict {
		t.Errorf("a hostile question took %v of the processor; the slowest by the clock was %q",
			hostile.most, hostile.text)
	}
}

// times are how long questions took.
type times struct {
	n                 int
	p50, p99, slowest time.Duration
	cpu, most         time.Duration // of the processor: of one, of the one that took most
	text              string        // of the slowest
}

func (s times) String() string {
	return fmt.Sprintf(
		"%d questions, p50 %v, p99 %v, slowest %v (%.60q), %v of processor each, %v at the most", s.n,
		s.p50.Round(10*time.Microsecond),
		s.p99.Round(10*time.Microsecond), s.slowest.Round(10*time.Microsecond), s.text,
		s.cpu.Round(10*time.Microsecond), s.most.Round(time.Millisecond))
}

// asked asks n questions.
func asked(t *testing.T, x *index.Index, question func() string, n int) times {
	t.Helper()
	texts := make([]string, n)
	for i := range texts {
		texts[i] = question()
	}
	s := times{n: n}
	var took []time.Duration
	before := processor()
	for _, text := range texts {
		began, used := time.Now(), processor()
		if _, err := index.Search(context.Background(), x, index.Request{
			Text: text,
			Page: 1,
			Size: 10,
			Now:  Noon,
		}); err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		s.most = max(s.most, processor()-used)
		d := time.Since(began)
		if took = append(took, d); d > s.slowest {
			s.slowest, s.text = d, text
		}
	}
	slices.Sort(took)
	s.p50, s.p99, s.cpu = took[n/2], took[n*99/100], (processor()-before)/time.Duration(n)
	return s
}

// together is the number of questions a second that two at once have answered.
func together(t *testing.T, x *index.Index, s *Synthetic, pages int) float64 {
	t.Helper()
	each := min(200, 1+pages/20)
	var group sync.WaitGroup
	began := time.Now()
	for k := range 2 {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(k), 3))
			for range each {
				text := s.Question(r, pages, *syntheticWords)
				if _, err := index.Search(context.Background(), x, index.Request{
					Text: text,
					Page: 1,
					Size: 10,
					Now:  Noon,
				}); err != nil {
					t.Errorf("%q: %v", text, err)
				}
			}
		})
	}
	group.Wait()
	return float64(2*each) / time.Since(began).Seconds()
}

func processor() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

func heap() uint64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// memory is what the system says of the memory of the process; "" where it says nothing.
func memory() string { return memoryOf(os.Getpid()) }

func memoryOf(pid int) string {
	raw, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	var out []string
	for line := range strings.Lines(string(raw)) {
		if strings.HasPrefix(line, "VmHWM:") || strings.HasPrefix(line, "VmRSS:") ||
			strings.HasPrefix(line, "RssAnon:") {
			out = append(out, strings.Join(strings.Fields(line), " "))
		}
	}
	return strings.Join(out, ", ")
}
