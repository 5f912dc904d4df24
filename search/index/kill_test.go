package index

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"
)

// killedDir is the variable with the folder of the index that the child of TestKilled fills.
const killedDir = "CRAWLNODE_TEST_KILLED_DIR"

const killedBatch = 5

// killedBatchOf is batch n: it adds documents, writes one of the batch before anew and removes
// another one.
func killedBatchOf(n int) Batch {
	var b Batch
	for i := range killedBatch {
		b.Put = append(b.Put, killedDocument(n, i, 0))
	}
	if n > 0 {
		b.Put = append(b.Put, killedDocument(n-1, 0, 1))
		b.Remove = append(b.Remove, Removal{URL: killedDocument(n-1, 1, 0).URL})
	}
	return b
}

func killedDocument(batch, i, revision int) Document {
	d := doc(fmt.Sprintf("h%d.test/%d", i, batch), fmt.Sprintf("page%d of batch%d", i, batch),
		"common "+strings.Repeat(fmt.Sprintf("word%d ", batch), 200))
	d.Partition, d.Revision = uint32(batch%7), uint32(revision)
	return d
}

// TestKilledChild is the process that TestKilled kills: it adds batches and says the number of each
// that Apply has taken, until it is killed or its input ends.
func TestKilledChild(t *testing.T) {
	dir := os.Getenv(killedDir)
	if dir == "" {
		return // no child
	}
	x, repair, err := Open(dir, Options{})
	if err != nil || repair.Damaged() {
		t.Fatalf("%v, %+v", err, repair)
	}
	// each adds five and removes one, the first only adds
	for n := int(x.Size().Documents-1) / (killedBatch - 1); ; n++ {
		if err := x.Apply(context.Background(), killedBatchOf(n)); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Printf("taken %d\n", n); err != nil {
			os.Exit(1) // the parent has gone
		}
	}
}

// killedRun lets a child add batches, kills it after some, and returns the number of the last batch
// that it said was taken.
func killedRun(t *testing.T, dir string, batches int, later time.Duration) int {
	t.Helper()
	child := exec.Command(os.Args[0], "-test.run=^TestKilledChild$", "-test.v")
	child.Env = append(os.Environ(), killedDir+"="+dir)
	var stderr bytes.Buffer
	child.Stderr = &stderr
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	last, said := -1, 0
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var n int
		if _, err := fmt.Sscanf(lines.Text(), "taken %d", &n); err != nil {
			continue
		}
		if last, said = n, said+1; said == batches {
			// in the midst of whatever it does then
			time.AfterFunc(later, func() { _ = child.Process.Kill() })
		}
	}
	if err := child.Wait(); err == nil || last < 0 {
		t.Fatalf("the child was not killed: %v, last batch %d: %s", err, last, stderr.String())
	}
	return last
}

// TestKilled: a process that adds to an index is killed, again and again, in the midst of batches
// and merges. Each time the index opens without a repair, and has exactly the documents of the
// batches that were taken: the one that was being added as a whole or not at all.
func TestKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 2))
	dir := t.TempDir()
	for range 10 {
		last := killedRun(t, dir, 1+r.IntN(40), time.Duration(r.IntN(8000))*time.Microsecond)
		x := open(t, dir)
		if _, ok, err := x.Get(killedDocument(last+1, 0, 0).URL); err != nil {
			t.Fatal(err)
		} else if ok {
			last++ // it was taken; only nobody has heard it
		}
		want := map[string]uint32{}
		for n := range last + 1 {
			b := killedBatchOf(n)
			for _, gone := range b.Remove {
				delete(want, gone.URL)
			}
			for _, d := range b.Put {
				want[d.URL] = d.Revision
			}
		}
		got := map[string]uint32{}
		for partition := range x.Partitions() {
			for d, err := range x.Documents(partition) {
				if _, twice := got[d.URL]; err != nil || twice {
					t.Fatalf("%s: %v, twice %v", d.URL, err, twice)
				}
				got[d.URL] = d.Revision
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d documents after batch %d, want %d", len(got), last, len(want))
		}
		for url, revision := range want {
			if have, ok := got[url]; !ok || have != revision {
				t.Fatalf("%s after batch %d: revision %d, there %v, want %d", url, last, have, ok, revision)
			}
		}
		if p := find(t, x, "common"); p.Total != int64(len(want)) {
			t.Fatalf("%d found of %d", p.Total, len(want))
		}
		if p := find(t, x, fmt.Sprintf("word%d", last)); len(p.Results) == 0 {
			t.Fatalf("nothing found of batch %d", last)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
		x.now = nil
	}
}
