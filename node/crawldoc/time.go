package crawldoc

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// The running time of the crawl counts against --max-duration, on every node. It is sent to other
// nodes, and stored, as a duration, so that it does not depend on any node's time of day. RunSince
// is a time of this process. After a restart the elapsed time is known if the machine has not
// rebooted. Otherwise it is estimated from the time of day, until a member that knows better
// corrects it in a renewal.

// documentJSON is a document outside of this process.
type documentJSON struct {
	plainDocument
	// RunFor is how long the current run has lasted; nil while the crawl does not run.
	RunFor *time.Duration `json:"run_for,omitempty"`
	// Run, Boot and Wall are on disk only: the clocks' readings when it was written.
	Run  uint64        `json:"machine_run,omitempty"`
	Boot time.Duration `json:"machine_up,omitempty"`
	Wall time.Time     `json:"written_at,omitzero"`
	// Checksum is on disk only; see checksum.go.
	Checksum string `json:"checksum,omitempty"`
}

// plainDocument is a document without its methods. Older ones have RunSince as a time of day.
type plainDocument Document

// MarshalJSON writes a document for another node.
func (d *Document) MarshalJSON() ([]byte, error) { return json.Marshal(d.outside(time.Now())) }

func (d *Document) outside(now time.Time) *documentJSON {
	j := &documentJSON{plainDocument: plainDocument(*d)}
	if d.RunSince != nil {
		ran := max(now.Sub(*d.RunSince), 0)
		j.RunFor, j.RunSince = &ran, nil
	}
	return j
}

// UnmarshalJSON reads a document as of now.
func (d *Document) UnmarshalJSON(b []byte) error {
	var j documentJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return err
	}
	*d = j.inside(time.Now(), 0)
	return nil
}

// inside converts to a document at now, when it was written before ago.
func (j *documentJSON) inside(now time.Time, before time.Duration) Document {
	d := Document(j.plainDocument)
	if j.RunFor != nil {
		since := now.Add(-max(*j.RunFor, 0) - before)
		d.RunSince = &since
	}
	return d
}

// MachineClock is what a Clock reads of its machine: the time since boot, and the time of day.
type MachineClock interface {
	BootTime() time.Duration
	Wall() time.Time
}

// Clock measures the time between two processes, for the store of documents.
type Clock struct {
	clock MachineClock
	run   uint64 // identifies the boot of the machine; 0: unknown
}

// NewClock reads clock, which may be nil; machine identifies the boot of the machine, "" when
// unknown.
func NewClock(clock MachineClock, machine string) Clock {
	c := Clock{clock: clock}
	if machine != "" {
		c.run = max(xxh3.HashString(machine), 1)
	}
	return c
}

// write encodes the document for the disk.
func (c Clock) write(d *Document) ([]byte, error) {
	j := d.outside(time.Now())
	if c.clock != nil {
		j.Run, j.Boot, j.Wall = c.run, c.clock.BootTime(), c.clock.Wall().UTC()
	}
	j.Checksum = noChecksum
	b, err := json.MarshalIndent(j, "", " ")
	if err == nil {
		sign(b)
	}
	return b, err
}

// read decodes a document from the disk.
func (c Clock) read(b []byte) (*Document, error) {
	var j documentJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, fmt.Errorf("the crawl document: %w", err)
	}
	if err := verify(b, j.Checksum); err != nil {
		return nil, err
	}
	before, known := time.Duration(0), false
	if c.clock != nil {
		if before = c.clock.BootTime() - j.Boot; c.run != 0 && c.run == j.Run && before >= 0 {
			known = true
		} else if before = 0; !j.Wall.IsZero() {
			before = max(c.clock.Wall().Sub(j.Wall), 0)
		}
	}
	d := j.inside(time.Now(), before)
	d.guessed = d.RunSince != nil && !known
	return &d, nil
}

// Runs is how long the current run has lasted, for a member that had to estimate; 0 when this node
// does not know better.
func (s *Store) Runs(now time.Time) time.Duration {
	d := s.Current().Doc
	if d.RunSince == nil || d.guessed {
		return 0
	}
	return max(now.Sub(*d.RunSince), 1)
}

// Correct applies another member's value for how long the run of a document has lasted, if this
// node had to estimate it.
func (s *Store) Correct(version uint64, by crawl.NodeID, ran time.Duration, now time.Time) {
	if ran <= 0 || !s.Current().Doc.guessed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	book := *s.Current()
	if d := book.Doc; !d.guessed || d.RunSince == nil || d.Version != version || d.By != by {
		return
	}
	d, since := *book.Doc, now.Add(-ran)
	d.RunSince, d.guessed = &since, false
	book.Doc = &d
	s.book.Store(&book)
}
