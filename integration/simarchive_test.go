package integration

import (
	"cmp"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"

	"crawlnode/crawl"
	storefiles "crawlnode/local/files"
)

// This file holds the archives of simulated nodes, which are real files, and their volumes, which
// fill up for a while. What must be true of them at the end is in simrecords_test.go.

// archiveSeeds is how many seeds there are for two in which the nodes keep archives.
const archiveSeeds = 4

// archive chooses them, and draws when whose archive finds no space: often beside another fault,
// whose moves and copies then meet it. It draws by itself, so it changes no other choice of a seed.
func (s *schedule) archive(seed uint64) {
	if seed%archiveSeeds > 1 {
		return
	}
	s.warc = true
	r := rand.New(rand.NewPCG(seed, 4))
	between := func(least, most float64) time.Duration {
		return time.Duration((least + r.Float64()*(most-least)) * float64(time.Second)).Truncate(
			10 * time.Millisecond)
	}
	names, times, kinds := s.names(), s.times(), [...]faultKind{fullArchive, quotaArchive}
	first := r.IntN(len(kinds))
	for i := range 1 + r.IntN(3) {
		f := fault{
			kind:  kinds[(first+i)%len(kinds)],
			nodes: []string{names[r.IntN(len(names))]},
			lasts: []time.Duration{between(3, 25)},
		}
		if r.IntN(4) == 0 {
			f.lasts[0] = between(25, 60)
		}
		f.at = between(2, times[len(times)-1].Seconds()+5)
		if r.IntN(2) == 0 {
			f.at = max(0, times[r.IntN(len(times))]+between(-3, 1))
		}
		s.faults = append(s.faults, f)
	}
	slices.SortStableFunc(s.faults, func(a, b fault) int { return cmp.Compare(a.at, b.at) })
}

// names are all nodes of a schedule.
func (s *schedule) names() (names []string) {
	for i := range s.first {
		names = append(names, fmt.Sprint("n", i+1))
	}
	for _, f := range s.faults {
		if f.kind == joinNode {
			names = append(names, f.nodes...)
		}
	}
	return names
}

// times are those of its faults, in order; there is at least one.
func (s *schedule) times() []time.Duration {
	times := []time.Duration{2 * time.Second}
	for _, f := range s.faults {
		if f.at > times[0] {
			times = append(times, f.at)
		}
	}
	slices.Sort(times)
	return times
}

// archiveFills: the archive of n3 finds no space while n1 is killed, so that n3 has to take over
// and to take copies, with records of its own that wait. The others go on, n3 says what is wrong,
// and goes on by itself when there is space. At last it leaves with a full archive.
func archiveFills(kind faultKind) schedule {
	p := drawn(3)
	p.warc = true
	n3 := []string{"n3"}
	p.seedsAt(3.5, 4, "n2")
	p.at(6, fault{kind: kind, nodes: n3, lasts: secs(25)})
	p.at(6.1, fault{kind: expectThat, promise: saysNoSpace, nodes: n3, lasts: secs(20)})
	p.at(8, fault{kind: killNode, nodes: []string{"n1"}, lasts: secs(8)})
	p.at(8.1, fault{kind: expectThat, promise: allServed, nodes: []string{"n2"}, lasts: secs(20)})
	p.at(9,
		fault{kind: expectThat, promise: morePages, nodes: []string{"n2"}, lasts: secs(20), flags: 6})
	p.at(31.1, fault{kind: expectThat, promise: allCopies, nodes: n3, lasts: secs(20)})
	p.at(31.1, fault{kind: expectThat, promise: morePages, nodes: n3, lasts: secs(20), flags: 10})
	p.at(60, fault{kind: kind, nodes: n3, lasts: secs(200)})
	p.at(64, fault{kind: leaveNode, nodes: n3})
	p.at(64.1, fault{
		kind:    expectThat,
		promise: hasEnded,
		nodes:   n3,
		lasts:   []time.Duration{simDrain + 2*time.Second},
	})
	return p.sorted()
}

// simFile is a file on the volume of an archive. A sync costs nothing, since no machine of a
// simulation loses what its archive was given.
type simFile struct {
	storefiles.File
	disk *machineDisk
}

// openFile opens a file of the archive.
func (d *machineDisk) openFile(path string, flag int) (storefiles.File, error) {
	f, err := storefiles.OpenFile(path, flag)
	if err != nil {
		return nil, err
	}
	return simFile{f, d}, nil
}

// Write writes half of what does not fit.
func (f simFile) Write(b []byte) (int, error) {
	full, _ := f.disk.has(fullArchive)
	if quota, _ := f.disk.has(quotaArchive); !full && !quota {
		return f.File.Write(b)
	}
	n, err := f.File.Write(b[:len(b)/2])
	return n, cmp.Or(err, error(syscall.ENOSPC))
}

func (f simFile) Sync() error { return nil }

// silentOfArchive says what is missing in the report of a node whose archive finds no space.
func (s *simulation) silentOfArchive(name string) string {
	st := s.status(name)
	for _, r := range st.Cluster.Health.Reasons {
		// The disk is full for the archive alone while no commit waits for a record.
		if (r.Code == crawl.ReasonDiskFull || r.Code == crawl.ReasonLowDisk) &&
			strings.HasPrefix(r.Message, name+" ") {
			return ""
		}
	}
	return fmt.Sprintf("%+v", st.Cluster.Health)
}
