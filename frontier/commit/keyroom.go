package commit

import "crawlnode/frontier/storage"

const (
	keyPiece   = 4 << 10 // bytes
	entryPiece = 64
)

// KeyRoom is an empty slice for n bytes of keys. Keys of a group share pieces of memory: they are
// mostly given up together.
func (g *Group) KeyRoom(n int) []byte {
	if cap(g.keys)-len(g.keys) < n {
		g.keys = make([]byte, 0, max(n, keyPiece))
	}
	from := len(g.keys)
	g.keys = g.keys[:from+n]
	return g.keys[from : from : from+n]
}

// entryRoom is the same for n entries of a mutation.
func (g *Group) entryRoom(n int) []storage.Entry {
	if cap(g.handed)-len(g.handed) < n {
		g.handed = make([]storage.Entry, 0, max(n, entryPiece))
	}
	from := len(g.handed)
	g.handed = g.handed[:from+n]
	return g.handed[from : from : from+n]
}
