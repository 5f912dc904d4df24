// Package handoff decides and carries out who holds which partition: it keeps
// the replicas of what this node holds, moves partitions between living nodes,
// and promotes the copies of dead ones. The rules are those of the project's
// ownership model; nothing here is ever resumed on a guess.
//
// Package machine decides. It is pure: events in, actions out, no clock, no I/O;
// time comes with the events. The Driver is one goroutine that owns the machine;
// it performs actions through small interfaces that package node fills, and
// feeds what came of them back as events. Every step that must be durable is
// durable before the event that says so, and is stored on the goroutine that
// installs views: no view can change between a decision and the disk.
//
// # States of a partition on one node
//
// Absent, Holding, Freezing and Released. Package machine says what they mean and
// which moves between them are legal.
//
// # Links and the in-sync set
//
// A link carries one partition to one replica: opening (what does it have?),
// copying (a snapshot is on its way), following (it has the copy, and nothing is
// acknowledged without it from here on), up (it also has all that was acknowledged
// before). The in-sync set of a partition is the holder and the replicas whose
// acknowledgement counts; only who is up enters it. A change of the set is
// numbered (epoch, version), stored by more than half of the view, and counts from
// then on; while it is being recorded, both sets must acknowledge. What is
// acknowledged is on every disk of the set. Only a member of the recorded set is
// ever promoted; when none of them is there, the partition is offline until one
// returns, or is forgotten.
//
// The set on this node's disk may be a proposal that nobody else knows. So a
// holder acknowledges nothing after a start or a promotion until more than half
// have stored a set of its own. In each newer view it records the set again, and
// tells those who have missed it: whoever knows it may leave.
//
// Links go to the replicas that the table names, and to the owner when that is
// another node: so a move is making the new owner a replica, and a token. After
// a move the sender stays in the set; the new holder drops copies that the table
// does not name once those that it names are in sync.
//
// # A replica that falls silent
//
// After three seconds without an acknowledgement the links to a replica are given up,
// and the sets go on without it. What it has not acknowledged, and what follows, is
// kept on disk (tail.go), until it has caught up, for five minutes or 256 MiB at the
// most. The next link asks what it has. When that is a beginning of what is here, of
// the same tenure, the missing part is sent from the tail (catchup.go). A partition that
// is promoted in the place of somebody who is away has a tail from its beginning: when
// that one comes back with just what was promoted, it adopts the tenure and goes on.
// Otherwise the partition is copied anew. The tail does not survive its process. While every replica
// answers nothing is written to it.
//
// # Promotion
//
// The owner of a partition that nobody passes to it asks every member of the
// view, itself included. "I hold it" means that a normal move will come. When all
// have said "not I", and the fence of the view is over, the highest (epoch,
// sequence) among the copies of the recorded set becomes the content, in the
// epoch of the view. A member that has answered takes no mutation from a node
// that its view does not list, nor from one that has joined anew since the epoch:
// gate.go.
//
// The answer comes from memory (answers.go), also while the disk is full or does not
// answer: the driver publishes what may be said before it carries anything out. Only
// what is on its way to the disk, and releases that must be sealed there, have no
// answer until they are stored. Installing a view waits for one second for the changes
// that were let in before it; what takes longer is revoked, and its caller hears so.
//
// A node that owns a partition and has no good copy of it asks for the best one of
// the set. That one may take the place of a copy of a later epoch: whoever held
// that epoch died before it had recorded a set, so it had acknowledged nothing, and no
// set counts what it sent. It never takes the place of anything but what was here
// when the copies were compared: wanted.go says why no recorded set can count that.
//
// The newest set that the members know must be the newest there is. More than half
// of a view have recorded it; when more than half of that view are gone since, it
// could be lost: the machine (history.go there) then keeps the partition offline. One limit stays: members that have restarted remember no
// older views. If those who knew the newest set die one after the other, faster
// than it can be recorded in a view between, and the rest has restarted
// meanwhile, an older set may be taken for the newest.
//
// # Acknowledgements
//
// Wait answers for one tenure: Tenures names it before something is stored. A node
// may lose a partition and hold it again later without what it stored before; the
// replicas of the later tenure do not answer for that. A caller is told at once
// when a replica whose word is needed did not answer its last call (ErrSilent), and
// for which partitions: in a cluster of two that is cut in two no set can shrink, and
// everybody else would wait out his time.
//
// # Loss of power
//
// The store is synced once a second only. A node that knows that its machine lost power
// holds nothing any more: what it held are copies, and unsure, as those that it had
// are, until a holder has gone on from them or has replaced them. They are not promoted
// while another node of the set is away that may have more.
//
// Where that cannot be known, a holder that comes back may have less than its replicas.
// It holds their copies against what it found on its disk at the start (bases.go),
// whatever it has written since; when one of them is ahead it yields, and that copy is
// promoted. While no replica can be reached it goes on without them: then what was lost
// is lost.
//
// # Copies that nobody counts
//
// A replica that has left the set is told to drop its copy. That word may be lost
// or late. So it names the link after which it was said, and counts for nothing
// when a newer one was opened; and every ten seconds a node asks the owners about
// copies that the table does not give it. Only a holder with a full set says that
// they may go; suspect copies stay.
//
// # Queues
//
//	queue              filled by              emptied by      bound                 when full
//	inbox              links, calls, views    Driver.Run      256 events            callers block
//	peer queue         frontier's writer      peer sender     64 MiB a peer         the links break, the tail begins
//	tail in memory     links that broke       tail.run        64 MiB, 200,000       the partition's ends: copied anew
//	tail on disk       tail.run               caught up, age  256 MiB, 5 min        the oldest file goes
//	copies behind      links that open        catchLoop       partitions            each waits: one at once a peer
//	groups in flight   peer sender            acknowledgement 8 a peer              the queue waits
//	copies to ask for  RequestCopy           workLoop         partitions            each is in it once
//	copies to make     OpenLink               copiers         partitions            each waits: 4 large, 16 small at once
//	sets to record     machine                recorder        partitions            the newest replaces the older
//	sets told late     recorder               recorder        partitions            the newest replaces the older
//	waiters            Wait                   acknowledgement callers               they leave when their context ends
//
// # What it does not do
//
// It reads no clock but the driver's, decides no view, grants no lease and
// speaks no network: bytes go through Transport. It does not merge what a node
// held alone on the losing side of --quorum=off.
package handoff
