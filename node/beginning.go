package node

import "fmt"

// A node that has data and finds its disk nearly full pauses and says so: what it holds
// is served and passed on from there. A node that has nothing yet can do nothing at all
// without space, not even found its partitions. So it says so and ends.

// roomToBegin is nil when there is space on every volume that this node writes to, and
// when there are data in the directory, as far as that can be told before they are opened.
func (n *Node) roomToBegin() error {
	if n.dir.Has("frontier") {
		return nil
	}
	return n.roomForNew()
}

// roomForNew is nil when there is more space than a node needs that fetches.
func (n *Node) roomForNew() error {
	for _, path := range n.volumes() {
		free, err := n.disk.freeAt(path)
		if err != nil || free >= lowDiskBytes {
			continue // what is not known is not judged
		}
		return &classError{ErrNoRoom, fmt.Errorf("only %d MiB are free at %s, and a new node needs %d MiB: free some space there, or give a --data-dir on another disk, and run the same command again",
			free>>20, path, lowDiskBytes>>20)}
	}
	return nil
}
