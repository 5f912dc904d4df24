// Package ring computes which member owns each partition: members in, table out.
//
// It is pure. The same members, partition count and replica count give the
// same Table on every node, whatever the order in which the members joined, so
// nodes that agree on the members need not agree on anything else.
//
// The life of a table: package membership installs a view, calls Build with
// the view's active members and publishes the Table beside the view. Tables
// are immutable and are never updated; the next view gets a table of its own.
//
// Placement is consistent hashing with bounded loads (Mirrokni, Thorup,
// Zadimoghaddam, 2016), as github.com/buraksezer/consistent does it: each
// member has VirtualNodes points on a circle, partitions are placed in order, each
// on the first member clockwise that is not full. No member owns more than
// ceil(Load * floor(partitions/members)).
//
// Replicas are the nodes that would take over: the first replica of a
// partition is its owner in the ring without the present owner, the second its
// owner in the ring without those two. So when an owner leaves, its partitions go to
// exactly the nodes that already have the copies. The library's own notion of "closest
// members" has no such property and is not used.
//
// The library sorts its circle anew for each added member, and a table needs a placement
// without each member in turn. So the circle is built once here (walk), by the library's
// rules, and each placement is one pass over the partitions. Up to 128 members every
// Build compares its owners with the library's, which are authoritative; for larger
// clusters tests do. The digests in testdata are of tables of up to a thousand members
// that the library alone computed.
//
// What it does not do: it does not know which nodes are alive, which node holds a
// partition at this moment, or how partitions move.
package ring
