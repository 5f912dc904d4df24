package storage

import (
	"bytes"
	"fmt"
	"strings"
	"sync"

	"github.com/zeebo/xxh3"
)

// memoryLimits are near those of the disk store, so that what fits into one
// fits into the other.
var memoryLimits = Limits{Entries: 40_000, Bytes: 4 << 20}

// Memory is a KV without a disk, for simulations. It can die as a process does
// (Crash) and as a machine does (PowerLoss), and its disk can fill up, freeze and
// err (SetTrouble).
type Memory struct {
	mu        sync.Mutex // guards the fields below; never held across a wait
	committed *memNode
	synced    *memNode
	closed    bool
	lostPower bool
	trouble   Trouble
	changed   chan struct{} // closed when trouble has changed or the store is closed; nil: nobody waits
}

// Trouble is a fault of the disk under a Memory. The zero value is a good disk.
type Trouble struct {
	Full   bool  // only what there is a reserve for has room
	Frozen bool  // no write and no sync comes to an end until it has thawed
	Err    error // of every write and sync
}

// SetTrouble changes the disk's fault.
func (m *Memory) SetTrouble(t Trouble) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.trouble = t
	m.wakeLocked()
}

func (m *Memory) wakeLocked() {
	if m.changed != nil {
		close(m.changed)
		m.changed = nil
	}
}

// lockThawed takes mu when the disk answers. Its error is the disk's.
func (m *Memory) lockThawed() error {
	m.mu.Lock()
	for m.trouble.Frozen && !m.closed {
		if m.changed == nil {
			m.changed = make(chan struct{})
		}
		changed := m.changed
		m.mu.Unlock()
		<-changed
		m.mu.Lock()
	}
	if m.closed {
		return ErrClosed
	}
	return m.trouble.Err
}

// Touch implements touchable.
func (m *Memory) Touch() error {
	err := m.lockThawed()
	defer m.mu.Unlock()
	return err
}

// Room implements roomy.
func (m *Memory) Room() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.trouble.Full {
		return ErrNoSpace
	}
	return nil
}

// WriteReserved implements roomy.
func (m *Memory) WriteReserved(entries []Entry) error {
	if !InOwnRange(entries) {
		panic("BUG: the reserve is for the node's own range")
	}
	if err := m.put(entries); err != nil {
		return err
	}
	return m.Sync()
}

// NewMemory returns an empty store.
func NewMemory() *Memory { return &Memory{} }

// Crash ends m as kill -9 does and returns the store that the next process
// finds: every Write that returned is in it.
func (m *Memory) Crash() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wakeLocked()
	return &Memory{committed: m.committed, synced: m.synced, lostPower: m.lostPower}
}

// PowerLoss ends m as a loss of power does: only what was written before the
// last Sync is in the store that comes back.
func (m *Memory) PowerLoss() *Memory {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wakeLocked()
	return &Memory{committed: m.synced, synced: m.synced, lostPower: true}
}

// LostPower implements powerless.
func (m *Memory) LostPower() bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.lostPower
}

// NotePowerLoss implements powerless.
func (m *Memory) NotePowerLoss() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.lostPower = false
	return nil
}

// Write implements KV.
func (m *Memory) Write(entries []Entry) error {
	size := 0
	for _, e := range entries {
		size += len(e.Key) + len(e.Value)
	}
	if len(entries) > memoryLimits.Entries || size > memoryLimits.Bytes {
		return fmt.Errorf("%w: %d entries, %d bytes", ErrTooBig, len(entries), size)
	}
	return m.put(entries)
}

func (m *Memory) put(entries []Entry) error {
	err := m.lockThawed()
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	root := m.committed
	for _, e := range entries {
		if len(e.Value) == 0 {
			root = memDelete(root, string(e.Key))
			continue
		}
		n := &memNode{key: string(e.Key), value: bytes.Clone(e.Value)}
		n.priority = xxh3.HashString(n.key)
		root = memPut(root, n)
	}
	m.committed = root
	return nil
}

// Snapshot implements KV.
func (m *Memory) Snapshot() (Snapshot, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return nil, ErrClosed
	}
	return memSnapshot{m.committed}, nil
}

// Limits implements KV.
func (m *Memory) Limits() Limits { return memoryLimits }

// Sync implements KV.
func (m *Memory) Sync() error {
	err := m.lockThawed()
	defer m.mu.Unlock()
	if err != nil {
		return err
	}
	m.synced = m.committed
	return nil
}

// Close implements KV. What was written is not lost: Crash returns it.
func (m *Memory) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.closed = true
	m.wakeLocked()
	m.synced = m.committed
	return nil
}

// memNode is a node of an immutable treap: a search tree by key and a heap by
// priority, the key's hash. A change copies the path to the root, so a
// snapshot is a pointer.
type memNode struct {
	key         string
	value       []byte
	priority    uint64
	left, right *memNode
}

func memPut(t, n *memNode) *memNode {
	if t == nil {
		return n
	}
	if n.key == t.key {
		n.left, n.right = t.left, t.right
		return n
	}
	c := *t
	if n.key < t.key {
		c.left = memPut(t.left, n)
		if c.left.priority > c.priority {
			l := c.left // fresh: memPut copied or made it
			c.left, l.right = l.right, &c
			return l
		}
		return &c
	}
	c.right = memPut(t.right, n)
	if c.right.priority > c.priority {
		r := *c.right
		c.right, r.left = r.left, &c
		return &r
	}
	return &c
}

func memDelete(t *memNode, key string) *memNode {
	if t == nil {
		return nil
	}
	if key == t.key {
		return memJoin(t.left, t.right)
	}
	c := *t
	if key < t.key {
		c.left = memDelete(t.left, key)
	} else {
		c.right = memDelete(t.right, key)
	}
	return &c
}

// memJoin makes one treap of two, all of whose keys are in order.
func memJoin(a, b *memNode) *memNode {
	switch {
	case a == nil:
		return b
	case b == nil:
		return a
	case a.priority > b.priority:
		c := *a
		c.right = memJoin(a.right, b)
		return &c
	default:
		c := *b
		c.left = memJoin(a, b.left)
		return &c
	}
}

type memSnapshot struct{ root *memNode }

func (s memSnapshot) Get(key, buf []byte) ([]byte, bool, error) {
	for t := s.root; t != nil; {
		switch c := strings.Compare(string(key), t.key); {
		case c == 0:
			return append(buf[:0], t.value...), true, nil
		case c < 0:
			t = t.left
		default:
			t = t.right
		}
	}
	return nil, false, nil
}

func (s memSnapshot) Iterate(prefix []byte) Iterator {
	return &memIterator{root: s.root, prefix: string(prefix)}
}

func (s memSnapshot) Close() {}

// memIterator keeps the nodes whose key is still to come, the next on top.
type memIterator struct {
	root   *memNode
	prefix string
	stack  []*memNode
}

func (i *memIterator) Seek(key []byte) {
	from := max(string(key), i.prefix)
	i.stack = i.stack[:0]
	for t := i.root; t != nil; {
		if t.key >= from {
			i.stack = append(i.stack, t)
			t = t.left
		} else {
			t = t.right
		}
	}
}

func (i *memIterator) top() *memNode { return i.stack[len(i.stack)-1] }

func (i *memIterator) Valid() bool {
	return len(i.stack) > 0 && strings.HasPrefix(i.top().key, i.prefix)
}

func (i *memIterator) Next() {
	t := i.top().right
	i.stack = i.stack[:len(i.stack)-1]
	for ; t != nil; t = t.left {
		i.stack = append(i.stack, t)
	}
}

func (i *memIterator) Key() []byte            { return []byte(i.top().key) }
func (i *memIterator) Value() ([]byte, error) { return i.top().value, nil }
func (i *memIterator) Close()                 {}
