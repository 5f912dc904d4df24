package access

import (
	"bufio"
	"bytes"
	"encoding/json"
	"log/slog"
	"os"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/local/datadir"
)

// maxAuditFile bounds one file of the audit, in bytes.
const maxAuditFile = 16 << 20

// Audit is what a node was asked to change, one JSON object a line:
//
//	audit.log    only ever appended to, synced before the asker's answer ends
//	audit.1.log  the one before: a file of maxAuditFile bytes is renamed to this
//
// A line that a crash cut off is skipped. A report is the newest entries of all members.
type Audit struct {
	mu   sync.Mutex // guards the files
	dir  *datadir.Dir
	node string // its name
	log  *slog.Logger
	max  int64 // maxAuditFile, but in tests
}

// NewAudit is the audit in the data directory of the node with a name.
func NewAudit(dir *datadir.Dir, node string, log *slog.Logger) *Audit {
	return &Audit{dir: dir, node: node, log: log, max: maxAuditFile}
}

// Record writes down a change that was ordered through this node. An operator must be able to pause
// the crawl although the disk takes nothing, so such an error is logged only.
func (a *Audit) Record(e crawl.AuditEntry) {
	e.Node = a.node
	if err := a.add(e); err != nil {
		a.log.Error("a change could not be written to the audit", "what", e.What, "token", e.Token,
			"from", e.From, "error", err)
	}
}

// add appends an entry and syncs it.
func (a *Audit) add(e crawl.AuditEntry) error {
	line, err := json.Marshal(e)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	path := a.dir.Join("audit.log")
	if info, err := os.Stat(path); err == nil && info.Size() >= a.max {
		if err := os.Rename(path, a.dir.Join("audit.1.log")); err != nil {
			return err
		}
	}
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	// A line that a crash cut off is ended first, or it would take this one with it.
	if err = endLine(f, path); err == nil {
		_, err = f.Write(append(line, '\n'))
	}
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	return err
}

// endLine appends a line end to a file that does not end in one.
func endLine(f *os.File, path string) error {
	in, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	info, err := in.Stat()
	if err != nil || info.Size() == 0 {
		return err
	}
	var last [1]byte
	if _, err := in.ReadAt(last[:], info.Size()-1); err != nil || last[0] == '\n' {
		return err
	}
	_, err = f.Write([]byte{'\n'})
	return err
}

// Newest reads the newest entries, newest first.
func (a *Audit) Newest(limit int) ([]crawl.AuditEntry, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var kept []crawl.AuditEntry // the last limit, in order
	for _, name := range []string{"audit.1.log", "audit.log"} {
		content, err := os.ReadFile(a.dir.Join(name))
		if os.IsNotExist(err) {
			continue
		}
		if err != nil {
			return nil, err
		}
		lines := bufio.NewScanner(bytes.NewReader(content))
		lines.Buffer(nil, maxAuditFile)
		for lines.Scan() {
			var e crawl.AuditEntry
			if json.Unmarshal(lines.Bytes(), &e) != nil {
				continue
			}
			if kept = append(kept, e); len(kept) >= 2*limit {
				kept = slices.Clone(kept[len(kept)-limit:])
			}
		}
	}
	kept = kept[max(0, len(kept)-limit):]
	slices.Reverse(kept)
	return kept, nil
}
