package crawldoc

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"io"
	"os"
	"time"

	"github.com/zeebo/xxh3"

	"crawlnode/crawl"
)

// The file ran says how long the current run of the crawl has lasted when its node was last seen to
// run. It is overwritten in place and not synced: what is lost with it are the seconds since the
// note before, and with a machine that loses its power some more. A file that is damaged or missing
// counts for nothing.

const (
	ranFile  = "ran"
	ranBytes = 256
	// noteEvery is how often a node notes the running time: as much is forgotten after a kill.
	noteEvery = 5 * time.Second
)

// note is the content of the file.
type note struct {
	Version uint64        `json:"version"` // of the document,
	By      crawl.NodeID  `json:"by"`      // whose run it is
	Ran     time.Duration `json:"ran"`
}

// encode makes the whole file of a note: its JSON, spaces, and the checksum of both.
func (n note) encode() []byte {
	b, err := json.Marshal(n)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	if len(b) > ranBytes-8 {
		return nil // the id of an origin that is no node's
	}
	for len(b) < ranBytes-8 {
		b = append(b, ' ')
	}
	return binary.LittleEndian.AppendUint64(b, xxh3.Hash(b))
}

// decodeNote reads a file; what is damaged is the empty note.
func decodeNote(b []byte) (n note) {
	if len(b) != ranBytes || xxh3.Hash(b[:ranBytes-8]) != binary.LittleEndian.Uint64(b[ranBytes-8:]) {
		return note{}
	}
	if json.Unmarshal(b[:ranBytes-8], &n) != nil || n.Ran < 0 {
		return note{}
	}
	return n
}

// readNote reads what was noted last in a data directory.
func readNote(path string) note {
	f, err := os.Open(path)
	if err != nil {
		return note{}
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, ranBytes+1))
	if err != nil {
		return note{}
	}
	return decodeNote(b)
}

// KeepTime notes how long the crawl has run, every few seconds and when ctx ends. A note that
// cannot be written is left out: the disk has its own watch.
func (s *Store) KeepTime(ctx context.Context) error {
	tick := time.NewTicker(noteEvery)
	defer tick.Stop()
	for {
		s.noteTime(time.Now())
		select {
		case <-ctx.Done():
			s.noteTime(time.Now())
			return nil
		case <-tick.C:
		}
	}
}

func (s *Store) noteTime(now time.Time) {
	d := s.Current().Doc
	if d.RunSince == nil {
		return // the document itself has the time
	}
	b := note{Version: d.Version, By: d.By, Ran: max(now.Sub(*d.RunSince), 0)}.encode()
	f, err := os.OpenFile(s.dir.Join(ranFile), os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	_, _ = f.WriteAt(b, 0)
	_ = f.Close()
}
