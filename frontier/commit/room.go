package commit

import "crawlnode/frontier/storage"

// roomy is a KV that knows whether it has room, and that has set some aside.
type roomy interface {
	// Room is nil when a Write has room, and ErrNoSpace when it would have to wait;
	// any other error is a failure of the store.
	Room() error
	// WriteReserved is a Write, and a Sync of it, for which there is room while
	// there is none for others. The entries are few, and of the node's own range.
	WriteReserved(entries []storage.Entry) error
}

// room asks the store whether it has room; one that cannot tell has.
func (w *Writer) room() error {
	if kv, ok := w.KV.(roomy); ok {
		return kv.Room()
	}
	return nil
}

// write hands a group's entries to the store, or to what the store has set aside.
func (w *Writer) write(entries []storage.Entry, full error) error {
	if full == nil {
		return w.KV.Write(entries)
	}
	if !storage.InOwnRange(entries) {
		return full
	}
	return w.KV.(roomy).WriteReserved(entries)
}
