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
// Zadimoghaddam, 2016), as github.com/buraksezer/consistent does it. A member of weight w is w
// units, each a member of the library: a unit has VirtualNodes points on a circle, partitions are
// placed in order, each on the first unit clockwise that is not full. With W the sum of the
// weights, no member owns more than
//
//	w * ceil(Load * floor(partitions/W))
//
// so it owns its share within a quarter, and where W is not far below the number of partitions
// within one partition a unit. If W is above the number of partitions, all weights are divided by
// the smallest number, and rounded up, for which it is not. A unit more or less moves what a member
// that joins or leaves moves, and nothing else; a change of the divisor moves nearly everything.
// The first unit has the name of a member without weights, so equal members have the table that
// they had before there were weights.
//
// The heir of a partition is its owner in the ring without its present owner: the node that takes
// over. Zones are what fails together, and each member without a zone is one of its own. The
// first replica of a partition is its heir, unless that is in the owner's zone and there is another
// one; then it is its owner in the ring without the owner's zone. The second is its owner
// in the ring without those two, or without their zones while there is a third. So the copies of a
// partition are in as many zones as there are. Zones never change who owns.
//
// Without zones, or with one zone for each member, the heir always has the copy: when an owner
// leaves, its partitions go to exactly the nodes that already have the copies. So it is with two
// zones and two replicas. Otherwise a heir in the owner's zone has none: it makes one from the
// copy in the other zone when it takes over (docs/decisions/0355-weights-and-zones.md). The
// library's own notion of "closest members" has no such property and is not used.
//
// The library sorts its circle anew for each added unit, and a table needs a placement
// without each member in turn. So the circle is built once here (walk), by the library's
// rules, and each placement is one pass over the partitions. Up to 128 units every
// Build compares its owners with the library's, which are authoritative; for larger
// clusters tests do. The digests in testdata are of tables of up to a thousand members
// that the library alone computed.
//
// What it does not do: it does not know which nodes are alive, which node holds a
// partition at this moment, or how partitions move.
package ring
