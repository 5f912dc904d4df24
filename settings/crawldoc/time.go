package crawldoc

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"crawlnode/crawl"
)

// The running time of the crawl counts against --max-duration, on every node. It is sent to other
// nodes, and stored, as a duration, so that it does not depend on any node's time of day. RunSince
// is a time of this process. Time in which no node runs does not count. So a node that starts goes
// on where it was last known to run (ran.go), until a member that has run meanwhile corrects it in
// a renewal.

// documentJSON is a document outside of this process.
type documentJSON struct {
	plainDocument
	// RunFor is how long the current run has lasted; nil while the crawl does not run.
	RunFor *time.Duration `json:"run_for,omitempty"`
	// Checksum is on disk only; see checksum.go.
	Checksum string `json:"checksum,omitempty"`
}

// plainDocument is a document without its methods. Older ones have RunSince as a time of day.
type plainDocument Document

// MarshalJSON writes a document for another node.
func (d *Document) MarshalJSON() ([]byte, error) { return plainJSON(d.outside(time.Now())) }

// Message is the document as it is sent to another node: JSON in which no byte is longer than it
// has to be, since rules for sites may be large.
func (d *Document) Message() ([]byte, error) { return plainJSON(d) }

// plainJSON is JSON without the escapes that protect HTML pages: a text full of them would be six
// times as long.
func plainJSON(v any) ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	err := enc.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

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
	*d = j.inside(time.Now())
	return nil
}

// inside converts to a document at now.
func (j *documentJSON) inside(now time.Time) Document {
	d := Document(j.plainDocument)
	if j.RunFor != nil {
		since := now.Add(-max(*j.RunFor, 0))
		d.RunSince = &since
	}
	return d
}

// encode writes the document for the disk.
func encode(d *Document) ([]byte, error) {
	j := d.outside(time.Now())
	j.Checksum = noChecksum
	b, err := json.MarshalIndent(j, "", " ")
	if err == nil {
		sign(b)
	}
	return b, err
}

// decode reads a document from the disk. ran is what the node noted last of its run.
func decode(b []byte, ran note) (*Document, error) {
	var j documentJSON
	if err := json.Unmarshal(b, &j); err != nil {
		return nil, fmt.Errorf("the crawl document: %w", err)
	}
	if err := verify(b, j.Checksum); err != nil {
		return nil, err
	}
	if j.RunFor != nil && ran.Version == j.Version && ran.By == j.By {
		*j.RunFor = max(*j.RunFor, ran.Ran)
	}
	d := j.inside(time.Now())
	d.guessed = d.RunSince != nil
	return &d, nil
}

// runsAs is d with the running time of the document before it, when that is greater: the node that
// changed it had been stopped.
func (d *Document) runsAs(before *Document, now time.Time) *Document {
	less := before.RunningFor(now) - d.RunningFor(now)
	if d.RunSince == nil || before.RunSince == nil || less <= 0 {
		return d
	}
	c, since := *d, d.RunSince.Add(-less)
	c.RunSince = &since
	return &c
}

// Runs is how long the current run has lasted at the least, for a member that was stopped
// meanwhile; 0: the crawl does not run.
func (s *Store) Runs(now time.Time) time.Duration {
	d := s.Current().Doc
	if d.RunSince == nil {
		return 0
	}
	return max(now.Sub(*d.RunSince), 1)
}

// Correct applies another member's value for how long the run of a document has lasted, if this
// node was stopped meanwhile and the other has seen more of it.
func (s *Store) Correct(version uint64, by crawl.NodeID, ran time.Duration, now time.Time) {
	if ran <= 0 || !s.Current().Doc.guessed {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	book := *s.Current()
	if d := book.Doc; !d.guessed || d.RunSince == nil || d.Version != version || d.By != by ||
		now.Sub(*d.RunSince) >= ran {
		return
	}
	d, since := *book.Doc, now.Add(-ran)
	d.RunSince = &since // guessed stays: a third member may have seen still more
	book.Doc = &d
	s.book.Store(&book)
}
