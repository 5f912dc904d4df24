package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// maxBlock keeps the end of a block inside what a time can hold.
const maxBlock = 10 * 365 * 24 * time.Hour

// errBlockNotCopied says that a replica is late.
var errBlockNotCopied = errors.New(
	"the block is stored here, and not yet on all replicas: send it again")

// Block has nobody request a host for as long as wait, whichever node holds it then; 0 ends an
// earlier block. A URL that a worker has is not taken back. It returns when that is on the disks of
// the partition's in-sync set.
func (d *Desk) Block(ctx context.Context, host crawl.Host, wait time.Duration) error {
	d.mu.Lock()
	closed := d.closed || d.pages == nil
	d.mu.Unlock()
	if closed {
		return errClosed
	}
	until := time.Time{}
	if wait > 0 {
		until = time.Now().Add(min(wait, maxBlock))
	}
	of := []crawl.Visit{{Lease: crawl.Lease{Partition: d.o.Node.Partition(host), Host: host}}}
	copied := d.copied(of)
	if err := d.o.Source.Block(ctx, of[0].Partition, host, until); err != nil {
		return err
	}
	if awaitCopied(ctx, copied, of) != nil {
		return errBlockNotCopied
	}
	return nil
}

// SetDelay has nobody request a host more often than once in delay, whichever node holds it then; 0
// ends that. It returns as Block does.
func (d *Desk) SetDelay(ctx context.Context, host crawl.Host, delay time.Duration) error {
	d.mu.Lock()
	closed := d.closed || d.pages == nil
	d.mu.Unlock()
	if closed {
		return errClosed
	}
	of := []crawl.Visit{{Lease: crawl.Lease{Partition: d.o.Node.Partition(host), Host: host}}}
	copied := d.copied(of)
	if err := d.o.Source.SetDelay(ctx, of[0].Partition, host, min(max(delay, 0), MaxHostDelay)); err !=
		nil {
		return err
	}
	if awaitCopied(ctx, copied, of) != nil {
		return errBlockNotCopied
	}
	return nil
}

// MaxHostDelay bounds the gap that a program outside may want for a host.
const MaxHostDelay = 24 * time.Hour

// DelayHost has nobody in the cluster request a host more often than once in delay; 0 ends that. It
// fails as BlockHost does.
func (f *Front) DelayHost(ctx context.Context, host crawl.Host, delay time.Duration) error {
	if err := f.o.Cluster.Ready(); err != nil {
		return err
	}
	switch to := f.o.Cluster.Holder(ring.PartitionOf(host, f.o.Cluster.Partitions())); to {
	case f.o.Self:
		return f.o.Cluster.Desk().SetDelay(ctx, host, delay)
	case "":
		return fmt.Errorf("no node is known that holds %s now: %w", host, crawl.ErrMoving)
	default:
		a, err := f.call(ctx, to, encode(question{Block: &blockQuestion{Host: host, Delay: &delay}}))
		if err = errors.Join(err, a.err()); err != nil {
			return fmt.Errorf("delay of %s at node %s: %w", host, to, err)
		}
		return nil
	}
}

// BlockHost has nobody in the cluster request a host for as long as wait; 0 ends an earlier block.
// crawl.ErrUnknownHost: no URL of it was ever queued.
func (f *Front) BlockHost(ctx context.Context, host crawl.Host, wait time.Duration) error {
	if err := f.o.Cluster.Ready(); err != nil {
		return err
	}
	switch to := f.o.Cluster.Holder(ring.PartitionOf(host, f.o.Cluster.Partitions())); to {
	case f.o.Self:
		return f.o.Cluster.Desk().Block(ctx, host, wait)
	case "":
		return fmt.Errorf("no node is known that holds %s now: %w", host, crawl.ErrMoving)
	default:
		a, err := f.call(ctx, to, encode(question{Block: &blockQuestion{Host: host, Wait: wait}}))
		if err = errors.Join(err, a.err()); err != nil {
			return fmt.Errorf("block %s at node %s: %w", host, to, err)
		}
		return nil
	}
}
