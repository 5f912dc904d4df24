package node

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"crawlnode/crawl"
	"crawlnode/membership"
	"crawlnode/node/datadir"
	"crawlnode/peer"
)

// The audit of a node is what it was asked to change, one JSON object a line:
//
//	audit.log    only ever appended to, synced before the asker's answer ends
//	audit.1.log  the one before: when a file has maxAuditFile bytes it takes this place
//
// A line that a crash cut off is skipped. Reports are the newest entries of all members.
const (
	maxAuditFile = 16 << 20
	// auditPatience is how long a report waits for members that do not answer.
	auditPatience = 2 * time.Second
	// maxAuditReply bounds what is answered to another member.
	maxAuditReply = 4 << 20
)

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

// Audit lists what all members were asked to change, newest first.
func (n *Node) Audit(ctx context.Context, limit int) (crawl.AuditReport, error) {
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	limit = min(limit, crawl.MaxAudit)
	own, err := n.audit.newest(limit)
	if err != nil {
		return crawl.AuditReport{}, fmt.Errorf("read the audit: %w", err)
	}
	r := crawl.AuditReport{Changes: own}
	var mu sync.Mutex // guards r
	var wg sync.WaitGroup
	for _, m := range n.others() {
		wg.Go(func() {
			theirs, err := n.askAudit(ctx, m, limit)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				r.Unanswered = append(r.Unanswered, m.Name)
				return
			}
			r.Changes = append(r.Changes, theirs...)
		})
	}
	wg.Wait()
	slices.Sort(r.Unanswered)
	slices.SortStableFunc(r.Changes, func(a, b crawl.AuditEntry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Node, b.Node)) })
	r.Changes = r.Changes[:min(len(r.Changes), limit)]
	return r, nil
}

// askAudit asks another member for its newest entries.
func (n *Node) askAudit(ctx context.Context, m membership.Member, limit int) ([]crawl.AuditEntry, error) {
	payload, err := json.Marshal(question{Audit: limit})
	if err != nil {
		panic("BUG: " + err.Error())
	}
	reply, err := peer.Call(ctx, n.pool, targetOf(m), &peer.Envelope{Payload: payload}, peer.PeerClient.Explain)
	if err != nil {
		return nil, err
	}
	var e explained
	if err := json.Unmarshal(reply.Payload, &e); err != nil {
		return nil, err
	}
	return e.Audit, nil
}

// auditReply is what another member is told: fewer entries when they are long.
func (n *Node) auditReply(limit int) (explained, error) {
	entries, err := n.audit.newest(min(limit, crawl.MaxAudit))
	size := 0
	for i, e := range entries {
		if size += len(e.Old) + len(e.New) + len(e.What) + 200; size > maxAuditReply {
			entries = entries[:i]
			break
		}
	}
	return explained{Audit: entries}, err
}
