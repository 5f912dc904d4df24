package transfer

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"crawlnode/crawl"
	"crawlnode/frontier"
	"crawlnode/frontier/storage"
	"crawlnode/local/datadir"
	"crawlnode/membership"
)

// A node that is alone with a damaged frontier can take it from nobody. It must not go on from
// what is left without being told to: URLs that it has acknowledged may be missing. So it writes
// down what is lost and ends; a person renames that file, and the next start uses what is left.
const (
	lossFile     = "LOSS"
	acceptedFile = "LOSS-ACCEPTED"
)

// loss is what a start finds to be lost.
type loss struct {
	damaged []crawl.Partition // something acknowledged is missing
	strays  []crawl.Partition // nobody knows which nodes have copies
}

func (l *loss) none() bool { return len(l.damaged)+len(l.strays) == 0 }

// text says what is lost, in one line.
func (l *loss) text(partitions int, cuts []string) string {
	all := slices.Concat(l.damaged, l.strays)
	slices.Sort(all)
	where := "it was damaged, or files of it were removed"
	if len(cuts) > 0 {
		where = "a log of it is damaged: " + strings.Join(cuts, ", ")
	}
	return fmt.Sprintf(
		"the frontier has lost something that this node had stored, in %d of %d partitions: %s",
		len(slices.Compact(all)), partitions, where)
}

// alone reports whether no other node can have a copy that this one lacks: none is a member, and
// none that may return is in a set that is left on the disk.
func (f Founder) alone(v *membership.View, self crawl.NodeID) bool {
	if len(v.Members) != 1 || !f.Founded() {
		return false
	}
	gone := map[crawl.NodeID]bool{self: true}
	for _, id := range v.Barred {
		gone[id] = true
	}
	for _, d := range v.Left {
		gone[d.ID] = true
	}
	return !slices.ContainsFunc(f.Frontier.Sets(), func(r frontier.SetRecord) bool {
		return slices.ContainsFunc(r.Members, func(id crawl.NodeID) bool { return !gone[id] })
	})
}

// lost finds the partitions of a lone node that cannot go on as they are. What a loss of power has
// taken is not among them: that much is documented.
func (f Founder) lost(partitions int) (l loss) {
	for i := range partitions {
		p := crawl.Partition(i)
		m, _ := f.Frontier.Meta(p)
		if m.Suspect && !m.Unsure {
			l.damaged = append(l.damaged, p)
		}
		if r, _ := f.Frontier.Set(p); len(r.Members) == 0 && (m.Suspect || m.State != frontier.Holder) {
			l.strays = append(l.strays, p)
		}
	}
	return l
}

// Remains decides what a lone node does with a frontier that has lost something. Its error names
// the file and the remedies; nil: the node may go on. With other members it does nothing: handoff
// takes their copies.
func (f Founder) Remains(ctx context.Context, v *membership.View, self crawl.NodeID) error {
	if !f.alone(v, self) {
		return nil
	}
	l := f.lost(v.Cluster.Partitions)
	if l.none() {
		return f.forgetLoss()
	}
	if f.Dir.Has(acceptedFile) {
		f.Logger.Warn("what the frontier has lost is given up, as the file "+acceptedFile+
			" says; the crawl goes on from what is left",
			"damaged", len(l.damaged), "unknown", len(l.strays))
		return f.claim(ctx, l.strays, self)
	}
	text := f.noted()
	if text == "" {
		text = l.text(v.Cluster.Partitions, cuts(f.Store))
		if err := datadir.WriteSynced(f.Dir.Join(lossFile), []byte(text+"\n")); err != nil {
			return datadir.Failed("write down what the frontier has lost", err)
		}
	}
	return datadir.Failed("use the frontier", fmt.Errorf("%s; no other node has a copy. "+
		"Put a backup of %s in its place; or accept the loss with the command "+
		"mv %s %s and start again: the crawl then goes on from what is left, "+
		"and fetches again what it does not know any more. "+
		"URLs that were added while it ran must be added again", text, f.Dir.Path(),
		f.Dir.Join(lossFile), f.Dir.Join(acceptedFile)))
}

// claim records that this node has the only copies there are of partitions, whatever they are
// worth. Then handoff goes on from them, and founds anew what is not there at all.
func (f Founder) claim(ctx context.Context, ps []crawl.Partition, self crawl.NodeID) error {
	var records []frontier.SetRecord
	for _, p := range ps {
		m, _ := f.Frontier.Meta(p)
		records = append(records, frontier.SetRecord{
			Partition: p,
			Epoch:     max(1, m.Epoch, m.MaxEpoch),
			Version:   1,
			Members:   []crawl.NodeID{self},
		})
	}
	if len(records) == 0 {
		return nil
	}
	if err := f.Frontier.PutSets(ctx, records); err != nil {
		return datadir.Failed("go on from what is left of the frontier", err)
	}
	return nil
}

// noted is what an earlier start has written down: it saw the damaged files.
func (f Founder) noted() string {
	b, err := os.ReadFile(f.Dir.Join(lossFile))
	if err != nil {
		return ""
	}
	line, _, _ := strings.Cut(string(b), "\n")
	return cmp.Or(line, "the frontier has lost something that this node had stored")
}

// forgetLoss removes the files of a loss that is over: another one must be accepted anew.
func (f Founder) forgetLoss() error {
	for _, name := range []string{lossFile, acceptedFile} {
		if !f.Dir.Has(name) {
			continue
		}
		if err := os.Remove(f.Dir.Join(name)); err != nil {
			return datadir.Failed("remove "+f.Dir.Join(name), err)
		}
	}
	return nil
}

// cuts says where logs of a store on disk were cut when it was opened.
func cuts(kv storage.KV) []string {
	if s, ok := kv.(interface{ Cuts() []string }); ok {
		return s.Cuts()
	}
	return nil
}

// CannotOpen is the error of a frontier that cannot be opened, with the remedy.
func CannotOpen(dir *datadir.Dir, err error) error {
	if errors.Is(err, storage.ErrDamaged) {
		folder := dir.Join("frontier")
		err = fmt.Errorf("%w. Nothing was changed. Put a backup of %s in its place; "+
			"or move the frontier away with the command mv %s %s and start again: "+
			"a node of a cluster then takes the copies of the others; "+
			"a node that is alone says how to begin again without it. The archive stays",
			err, dir.Path(), folder, folder+".damaged")
	}
	return datadir.Failed("open the frontier", err)
}
