package node

import (
	"bufio"
	"bytes"
	"encoding/json"
	"os"
	"slices"
	"sync"

	"crawlnode/crawl"
	"crawlnode/node/datadir"
)

// The audit of a node is what it was asked to change, one JSON object a line:
//
//	audit.log    only ever appended to, synced before the asker's answer ends
//	audit.1.log  the one before: when a file has maxAuditFile bytes it takes this place
//
// A line that a crash cut off is skipped. Reports are the newest entries of all members.
const maxAuditFile = 16 << 20

// auditLog writes and reads those files.
type auditLog struct {
	mu  sync.Mutex // guards the files
	dir *datadir.Dir
	max int64 // maxAuditFile, but in tests
}

// add appends an entry and syncs it.
func (a *auditLog) add(e crawl.AuditEntry) error {
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

// newest reads the newest entries, newest first.
func (a *auditLog) newest(limit int) ([]crawl.AuditEntry, error) {
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

// RecordChange writes down what somebody asked this node to change. A disk that takes
// nothing must not keep an operator from pausing the crawl, so that is logged only.
func (n *Node) RecordChange(e crawl.AuditEntry) {
	e.Node = n.name
	if err := n.audit.add(e); err != nil {
		n.log.Error("a change could not be written to the audit", "what", e.What, "token", e.Token, "from", e.From, "error", err)
	}
}
