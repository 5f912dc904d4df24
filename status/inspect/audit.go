package inspect

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"crawlnode/crawl"
)

const (
	// auditPatience is how long a report waits for members that do not answer.
	auditPatience = 2 * time.Second
	// maxAuditAnswer bounds the answer to another member, in bytes.
	maxAuditAnswer = 4 << 20
)

// Audit lists the changes requested on all members, newest first.
func (i *Inspector) Audit(ctx context.Context, limit int) (crawl.AuditReport, error) {
	ctx, cancel := context.WithTimeout(ctx, auditPatience)
	defer cancel()
	limit = min(limit, crawl.MaxAudit)
	own, err := i.o.Audit(limit)
	if err != nil {
		return crawl.AuditReport{}, fmt.Errorf("read the audit: %w", err)
	}
	r := crawl.AuditReport{Changes: own}
	for _, a := range i.askOthers(ctx, question{Audit: limit}) {
		if a.Err != nil {
			r.Unanswered = append(r.Unanswered, a.Node.Name)
			continue
		}
		r.Changes = append(r.Changes, a.Value.Audit...)
	}
	slices.Sort(r.Unanswered)
	slices.SortStableFunc(r.Changes, func(a, b crawl.AuditEntry) int { return cmp.Or(b.At.Compare(a.At), cmp.Compare(a.Node, b.Node)) })
	r.Changes = r.Changes[:min(len(r.Changes), limit)]
	return r, nil
}

// auditAnswer is the answer to another member; it has fewer entries when they are long.
func (i *Inspector) auditAnswer(limit int) (answer, error) {
	entries, err := i.o.Audit(min(limit, crawl.MaxAudit))
	size := 0
	for k, e := range entries {
		if size += len(e.Old) + len(e.New) + len(e.What) + 200; size > maxAuditAnswer {
			entries = entries[:k]
			break
		}
	}
	return answer{Audit: entries}, err
}
