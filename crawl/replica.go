package crawl

// Entry is one key of a partition, relative to it, so that it means the same on
// every node. A Value without bytes deletes the key.
type Entry struct {
	Key, Value []byte
}

// Mutation is one numbered change of a partition by its holder.
type Mutation struct {
	Epoch   Epoch // of the holder's tenure
	Seq     Seq   // one more than the mutation before
	Entries []Entry
}

// Bytes is the size of the keys and values.
func (m *Mutation) Bytes() int {
	n := 0
	for i := range m.Entries {
		n += len(m.Entries[i].Key) + len(m.Entries[i].Value)
	}
	return n
}

// CopyMutation is a mutation for a replica's copy.
type CopyMutation struct {
	Partition Partition
	Mutation
}
