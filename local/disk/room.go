package disk

import (
	"context"
	"errors"
	"fmt"
	"time"

	"crawlnode/local/datadir"
	"crawlnode/local/files"
)

// RoomToBegin is nil when the data directory holds data, or when there is room for a new node.
// A node with data and a nearly full disk pauses and says so: from there its data can be served
// and handed over. A node without data can do nothing without space, not even found its
// partitions, so it says so and ends.
func (d *Space) RoomToBegin() error {
	if d.dir.Begun() {
		return nil
	}
	return d.room(NewBytes)
}

// beginBytes is more than a new node stores at once: the first log of its frontier, whose blocks
// are set aside, the reserve and small files. With less, it would be refused only after it had made
// them.
const beginBytes = 64 << 20

// NewBytes is the free space that a node without data needs to begin.
const NewBytes = LowBytes + beginBytes

// RoomForNew is nil when every volume has more space than a node needs to fetch.
func (d *Space) RoomForNew() error { return d.room(LowBytes) }

// room is nil when every volume has so much space.
func (d *Space) room(least int64) error {
	for _, path := range d.paths() {
		free, err := d.freeAt(path)
		if err != nil || free >= least {
			continue // a volume that cannot be asked is not judged
		}
		return datadir.NoRoom(fmt.Errorf("only %d MiB are free at %s, and a new node needs %d MiB: "+
			"free some space there, or give a --data-dir on another disk, and run the same command again",
			free>>20, path, least>>20))
	}
	return nil
}

// retryEvery is how often a write that waits for space is tried again.
const retryEvery = 200 * time.Millisecond

// ErrStopped ends the wait for space when the node stops.
var ErrStopped = errors.New("the disk is nearly full and the node stops")

// IsFull reports whether a write has failed for want of space, so that it is worth
// trying again.
func IsFull(err error) bool { return files.NoRoom(err) }

// Pause waits for a moment before a write that needs space is tried again. Its error ends
// the waiting: ctx has ended, or the node, as running tells.
func Pause(ctx, running context.Context) error {
	select {
	case <-time.After(retryEvery):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-running.Done():
		return ErrStopped
	}
}

// Retry calls do again and again while the disk is full.
func Retry(ctx, running context.Context, do func() error) error {
	for {
		err := do()
		if !IsFull(err) {
			return err
		}
		if err := Pause(ctx, running); err != nil {
			return err
		}
	}
}

// Wait returns when so many bytes may be written, or when ctx or the node ends.
func (d *Space) Wait(ctx, running context.Context, bytes int64) error {
	for !d.Has(bytes) {
		if err := Pause(ctx, running); err != nil {
			return err
		}
	}
	return nil
}
