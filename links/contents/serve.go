package contents

import (
	"context"
	"fmt"
	"time"
	"unicode/utf8"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/peer"
	"crawlnode/web/urlnorm"
)

// Serve answers a call of another member. Calls that no correct member makes are refused with the
// gRPC code InvalidArgument.
func (x *Index) Serve(
	ctx context.Context,
	from crawl.NodeID,
	b *peer.ContentBatch,
) (*peer.ContentReply, error) {
	if err := check(b, x.o.Cluster.Partitions()); err != nil {
		return nil, status.Error(codes.InvalidArgument, err.Error())
	}
	if err := x.noted(ctx, from, b.Notes); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, pendingWait)
	defer cancel()
	answers := make([]peer.ContentAnswer, len(b.Questions)) // one allocation for all
	reply := &peer.ContentReply{Answers: make([]*peer.ContentAnswer, len(b.Questions))}
	for i, q := range b.Questions {
		a := &answers[i]
		reply.Answers[i] = a
		if x.answer(q, a); b.Wait {
			x.awaitStored(ctx, q, a)
		}
	}
	return reply, nil
}

// check refuses calls that no correct member makes.
func check(b *peer.ContentBatch, partitions int) error {
	if len(b.Questions) > maxItems || len(b.Notes) > maxItems {
		return fmt.Errorf("%d questions and %d notes, %d of each are allowed", len(b.Questions),
			len(b.Notes), maxItems)
	}
	for _, q := range b.Questions {
		if len(q.Digest) == 0 {
			q.Digest = nil
			if len(q.Url) > urlnorm.MaxLen {
				return fmt.Errorf("a URL of %d bytes", len(q.Url))
			}
		} else if err := checkPayload(q.Url, q.Digest, q.Partition, partitions); err != nil {
			return err
		}
	}
	for _, note := range b.Notes {
		if err := checkPayload(note.Url, note.Digest, note.Partition, partitions); err != nil {
			return err
		}
		if len(note.Record) != 0 && len(note.Record) != 16 {
			return fmt.Errorf("a record id of %d bytes", len(note.Record))
		}
	}
	return nil
}

// checkPayload refuses an invalid payload: of a page without URL, without a digest, or of another
// partition than the digest's.
func checkPayload(url string, digest []byte, p uint32, partitions int) error {
	switch {
	case len(url) > urlnorm.MaxLen || !utf8.ValidString(url):
		return fmt.Errorf("a URL of %d bytes", len(url))
	case len(digest) != 20:
		return fmt.Errorf("a digest of %d bytes", len(digest))
	case uint32(digestPartition(crawl.Digest(digest), partitions)) != p:
		return fmt.Errorf("digest %x is not of partition %d", digest, p)
	}
	return nil
}

// noted stores the notes of another node about new payloads, and wakes those that wait for them.
func (x *Index) noted(ctx context.Context, from crawl.NodeID, notes []*peer.ContentNote) error {
	var stored []frontier.Content
	over := make([]crawl.Digest, 0, len(notes))
	for _, note := range notes {
		d := crawl.Digest(note.Digest)
		over = append(over, d)
		if len(note.Record) == 16 {
			stored = append(stored, frontier.Content{
				Partition: crawl.Partition(note.Partition),
				Digest:    d,
				Replace:   x.replaces(d),
				Original: crawl.Original{
					Record:    [16]byte(note.Record),
					Node:      from,
					URL:       note.Url,
					FetchedAt: time.Unix(0, note.FetchedAtNs).UTC(),
				},
			})
		}
	}
	defer x.release(over...)
	return x.o.Store.NoteContents(ctx, stored)
}
