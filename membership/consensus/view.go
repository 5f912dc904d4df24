package consensus

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"unicode"
	"unicode/utf8"

	"crawlnode/crawl"
	"crawlnode/ring"
)

// Bounds on what is accepted from outside.
const (
	maxIDBytes      = 64
	MaxNameBytes    = 64
	MaxAddressBytes = 128
	MaxMachineBytes = 16
	MaxZoneBytes    = crawl.MaxZoneBytes
	// MaxNumber bounds view numbers, boots and rounds, so that one more can
	// always be added.
	MaxNumber = 1 << 62
	// maxDepartures bounds View.Left. Gossip does not show a node that left before the
	// last 64 polite leaves.
	maxDepartures = 64
	// MaxBarred bounds View.Barred: a forget request is rare, and made by a person.
	MaxBarred = 256
	MaxPID    = 1 << 31
)

// ClusterID is a cluster's random identity, 32 hex digits; "" means that it is not known
// yet. Clusters with different ids never merge.
type ClusterID string

// Cluster is what all members must share. A node without data knows only a part of it
// before it joins: the zero value of a field means that it is taken over from the
// cluster. Name, VirtualNodes and Protocol are known to every node.
type Cluster struct {
	ID           ClusterID `json:"id"`
	Name         string    `json:"name"` // --cluster
	Partitions   int       `json:"partitions"`
	Replication  int       `json:"replication"` // copies of a partition, the holder's included
	VirtualNodes int       `json:"virtual_nodes"`
	Protocol     int       `json:"protocol"`
}

// Difference names the first thing in which two nodes' clusters disagree, as
// a clause for a message, or "" when they may join.
func (c Cluster) Difference(other Cluster) string {
	switch {
	case c.Name != other.Name:
		return fmt.Sprintf("its cluster is named %q, ours %q (--cluster)", other.Name, c.Name)
	case c.Protocol != other.Protocol:
		return fmt.Sprintf("it speaks protocol version %d, we speak %d (run the same release)",
			other.Protocol, c.Protocol)
	case c.VirtualNodes != other.VirtualNodes:
		return fmt.Sprintf("it places %d virtual nodes, we place %d (run the same release)",
			other.VirtualNodes, c.VirtualNodes)
	case c.ID != "" && other.ID != "" && c.ID != other.ID:
		return fmt.Sprintf("it belongs to cluster id %s, we to %s (another cluster of the same name)",
			other.ID, c.ID)
	case c.Partitions != 0 && other.Partitions != 0 && c.Partitions != other.Partitions:
		return fmt.Sprintf("its cluster has %d partitions, ours %d (--partitions)", other.Partitions,
			c.Partitions)
	}
	return ""
}

// Member is a node as a view lists it. A restart changes Boot and perhaps the
// addresses, and that is a new view.
type Member struct {
	ID       crawl.NodeID `json:"id"`
	Name     string       `json:"name"` // human name, unique within the view
	Boot     crawl.Boot   `json:"boot"`
	Since    crawl.Epoch  `json:"since"` // number of the view in which the id last joined
	Draining bool         `json:"draining,omitempty"`
	RPC      string       `json:"rpc"`    // host:port of node-to-node calls
	HTTP     string       `json:"http"`   // host:port of the API
	Gossip   string       `json:"gossip"` // host:port of memberlist
	Process
	Place
}

// Place is where a node says that it stands in the table. Unlike all else that a view says of a
// boot it may change while the boot runs, and that is a new view. It decides who owns what, never
// who is a member.
type Place struct {
	// Weight is the share of the partitions, 1 to ring.MaxWeight; 0 counts as 1.
	Weight int `json:"weight,omitempty"`
	// Zone is what fails together, at most MaxZoneBytes; "" for none.
	Zone string `json:"zone,omitempty"`
	// Changes counts the changes within a boot. Gossip of a node may be older than the view that
	// lists it: what counts fewer changes is not news.
	Changes uint32 `json:"changes,omitempty"`
}

// Share is the weight, 1 at least.
func (p Place) Share() int { return max(p.Weight, 1) }

// later reports whether a place of the same boot follows the other one.
func (p Place) later(than Place) bool { return p.Changes > than.Changes }

// Process identifies the process of a node, so that others on its machine can see that it
// is gone. The zero value means that it is not known.
type Process struct {
	// Machine names the running machine and the process id namespace, hashed.
	Machine string `json:"machine,omitempty"`
	PID     int    `json:"pid,omitempty"`
	// Started is when the process began, in clock ticks since the machine's.
	Started uint64 `json:"started,omitempty"`
}

// Departure is a polite leave: this boot of the node asked to be removed and was. Only a
// higher boot is admitted again, so that a late message of gossip cannot bring the node
// back.
type Departure struct {
	ID   crawl.NodeID `json:"id"`
	Boot crawl.Boot   `json:"boot"`
}

// Removal is a member of the view before that a view dropped.
type Removal struct {
	ID   crawl.NodeID `json:"id"`
	Boot crawl.Boot   `json:"boot"`
	Name string       `json:"name"`
	// Proved says that this boot can send nothing any more: the proposer had proof of
	// its death, or it left politely and had closed everything. It is false for a
	// member dropped for silence or forgotten: then a new owner must wait until the
	// lease has certainly run out.
	Proved bool `json:"proved,omitempty"`
}

// View is a numbered set of members, decided by a majority of the one before.
// Views count from 1. A View is immutable; at most one exists per number.
type View struct {
	Number  crawl.Epoch `json:"number"`
	Cluster Cluster     `json:"cluster"`
	Members []Member    `json:"members"` // sorted by id
	// Left holds the last polite leaves, oldest first, at most 64.
	Left []Departure `json:"left,omitempty"`
	// Removed lists the members that this view dropped against the one before, sorted
	// by id. It does not accumulate: a node that skips a view misses some.
	Removed []Removal `json:"removed,omitempty"`
	// Barred lists the ids that were forgotten and are never admitted again,
	// sorted, at most 256.
	Barred []crawl.NodeID `json:"barred,omitempty"`
}

// Table returns the members that are not draining, as the table is built from them. There is
// always at least one.
func (v *View) Table() []ring.Member {
	var out []ring.Member
	for _, m := range v.Members {
		if !m.Draining {
			out = append(out, ring.Member{ID: m.ID, Weight: m.Share(), Zone: m.Zone})
		}
	}
	return out
}

// Active returns the ids of the members that are not draining, sorted: those
// that the table is built from. There is always at least one.
func (v *View) Active() []crawl.NodeID {
	var out []crawl.NodeID
	for _, m := range v.Members {
		if !m.Draining {
			out = append(out, m.ID)
		}
	}
	return out
}

// Member returns the member with the given id.
func (v *View) Member(id crawl.NodeID) (Member, bool) {
	if i, ok := find(v.Members, id); ok {
		return v.Members[i], true
	}
	return Member{}, false
}

// Others returns the members but for one; a nil view has none.
func (v *View) Others(than crawl.NodeID) []Member {
	if v == nil {
		return nil
	}
	var out []Member
	for _, m := range v.Members {
		if m.ID != than {
			out = append(out, m)
		}
	}
	return out
}

// Lists reports whether the view lists exactly this boot of the node. A node
// whose boot is not listed may not fetch.
func (v *View) Lists(id crawl.NodeID, boot crawl.Boot) bool {
	i, ok := find(v.Members, id)
	return ok && v.Members[i].Boot == boot
}

// Bars reports whether the id was forgotten and may never come back.
func (v *View) Bars(id crawl.NodeID) bool {
	_, ok := slices.BinarySearch(v.Barred, id)
	return ok
}

// digestBytes is the length of a Digest before it is written in hex.
const digestBytes = 8

// Digest names the view's content in 16 hex digits.
func (v *View) Digest() string {
	out, err := json.Marshal(v)
	if err != nil {
		panic("BUG: a view cannot be encoded: " + err.Error())
	}
	sum := sha256.Sum256(out)
	return hex.EncodeToString(sum[:digestBytes])
}

// String shows the view in one line.
func (v *View) String() string {
	if v == nil {
		return "no view"
	}
	out := fmt.Sprintf("view %d [", v.Number)
	for i, m := range v.Members {
		if i > 0 {
			out += " "
		}
		out += fmt.Sprintf("%s/%d since %d", m.ID, m.Boot, m.Since)
		if m.Draining {
			out += " draining"
		}
		if m.Share() > 1 {
			out += fmt.Sprintf(" weight %d", m.Weight)
		}
		if m.Zone != "" {
			out += " zone " + m.Zone
		}
	}
	out += "]"
	for i, r := range v.Removed {
		if i == 0 {
			out += " removed"
		}
		out += fmt.Sprintf(" %s/%d", r.ID, r.Boot)
		if r.Proved {
			out += " proved"
		}
	}
	for i, id := range v.Barred {
		if i == 0 {
			out += " barred"
		}
		out += " " + string(id)
	}
	return out
}

// Replicas is the number of copies beside the owner's.
func (v *View) Replicas() int {
	return min(max(v.Cluster.Replication-1, 0), ring.MaxReplicas)
}

func compareIDs(a, b Member) int { return cmp.Compare(a.ID, b.ID) }

// find is a binary search by id that copies no Member.
func find(members []Member, id crawl.NodeID) (int, bool) {
	i, end := 0, len(members)
	for i < end {
		if middle := (i + end) / 2; members[middle].ID < id {
			i = middle + 1
		} else {
			end = middle
		}
	}
	return i, i < len(members) && members[i].ID == id
}

// Validate checks a view that came from outside: from the network or the disk.
func (v *View) Validate() error {
	switch {
	case v.Number < 1 || v.Number > MaxNumber:
		return fmt.Errorf("view number %d is out of range", v.Number)
	case len(v.Members) == 0:
		return errors.New("a view without members")
	case len(v.Active()) == 0:
		return errors.New("a view without an active member")
	case v.Cluster.Partitions < 1 || v.Cluster.Partitions > ring.MaxPartitions:
		return fmt.Errorf("%d partitions are out of range", v.Cluster.Partitions)
	case len(v.Members) > v.Cluster.Partitions:
		return fmt.Errorf("%d members for %d partitions", len(v.Members), v.Cluster.Partitions)
	case v.Cluster.Replication < 1 || v.Cluster.Replication > ring.MaxReplicas+1:
		return fmt.Errorf("replication %d is out of range", v.Cluster.Replication)
	case len(v.Left) > maxDepartures:
		return fmt.Errorf("%d departures, at most %d are kept", len(v.Left), maxDepartures)
	}
	if err := errors.Join(v.Cluster.ID.Validate(), v.validateGone()); err != nil {
		return err
	}
	for i, m := range v.Members {
		if i > 0 && v.Members[i-1].ID >= m.ID {
			return fmt.Errorf("members %q and %q are out of order", v.Members[i-1].ID, m.ID)
		}
		if m.Since < 1 || m.Since > v.Number {
			return fmt.Errorf("member %q joined in view %d of %d", m.ID, m.Since, v.Number)
		}
		if err := m.validate(); err != nil {
			return err
		}
	}
	return ValidateText("cluster name", v.Cluster.Name, MaxNameBytes)
}

// validateGone checks who was removed and barred.
func (v *View) validateGone() error {
	if len(v.Removed) > v.Cluster.Partitions {
		return fmt.Errorf("%d removals", len(v.Removed))
	}
	for i, r := range v.Removed {
		if err := errors.Join(ValidateID(r.ID),
			ValidateText("node name", r.Name, MaxNameBytes)); err != nil {
			return err
		}
		if r.Boot < 1 || r.Boot > MaxNumber || i > 0 && v.Removed[i-1].ID >= r.ID {
			return fmt.Errorf("removal %q, boot %d is out of order or range", r.ID, r.Boot)
		}
	}
	if err := ValidateIDs(v.Barred); err != nil {
		return fmt.Errorf("barred: %w", err)
	}
	for _, m := range v.Members {
		if v.Bars(m.ID) {
			return fmt.Errorf("member %q is barred", m.ID)
		}
	}
	return nil
}

// ValidateIDs checks a set of forgotten ids: sorted, none twice, not too many.
func ValidateIDs(ids []crawl.NodeID) error {
	if len(ids) > MaxBarred {
		return fmt.Errorf("%d ids, at most %d are kept", len(ids), MaxBarred)
	}
	for i, id := range ids {
		if err := ValidateID(id); err != nil {
			return err
		}
		if i > 0 && ids[i-1] >= id {
			return fmt.Errorf("ids %q and %q are out of order", ids[i-1], id)
		}
	}
	return nil
}

func (m Member) validate() error {
	if err := ValidateID(m.ID); err != nil {
		return err
	}
	if m.PID < 0 || m.PID > MaxPID || m.Started > MaxNumber {
		return fmt.Errorf("process %d, started at %d, of %q is out of range", m.PID, m.Started, m.ID)
	}
	if m.Boot < 1 || m.Boot > MaxNumber {
		return fmt.Errorf("boot %d of %q is out of range", m.Boot, m.ID)
	}
	return errors.Join(
		m.Place.Validate(),
		ValidateText("node name", m.Name, MaxNameBytes),
		ValidateText("RPC address", m.RPC, MaxAddressBytes),
		ValidateText("HTTP address", m.HTTP, MaxAddressBytes),
		ValidateText("gossip address", m.Gossip, MaxAddressBytes),
		ValidateText("machine", m.Machine, MaxMachineBytes))
}

// Validate checks a place that came from outside.
func (p Place) Validate() error {
	if p.Weight < 0 || p.Weight > ring.MaxWeight {
		return fmt.Errorf("weight %d is out of range: 1 to %d", p.Weight, ring.MaxWeight)
	}
	return ValidateText("zone", p.Zone, MaxZoneBytes)
}

// Validate checks an id that came from outside.
func (id ClusterID) Validate() error {
	raw, err := hex.DecodeString(string(id))
	if err != nil || len(raw) != ClusterIDBytes {
		return fmt.Errorf("cluster id %q is not %d hex digits", id, 2*ClusterIDBytes)
	}
	return nil
}

// ValidateID allows what is safe in a file name, a log line and a ring name.
func ValidateID(id crawl.NodeID) error {
	if id == "" || len(id) > maxIDBytes {
		return fmt.Errorf("node id %q must have 1 to %d bytes", id, maxIDBytes)
	}
	for _, c := range []byte(id) {
		if !(c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '-' ||
			c == '_' || c == '.') {
			return fmt.Errorf("node id %q must consist of letters, digits, '-', '_' and '.'", id)
		}
	}
	return nil
}

// ValidateText bounds a text that will be shown to people on a terminal.
func ValidateText(what, s string, maxBytes int) error {
	if len(s) > maxBytes {
		return fmt.Errorf("%s has %d bytes, at most %d are allowed", what, len(s), maxBytes)
	}
	if !utf8.ValidString(s) {
		return fmt.Errorf("%s %q is not UTF-8", what, s)
	}
	for _, r := range s {
		if unicode.IsControl(r) {
			return fmt.Errorf("%s %q contains a control character", what, s)
		}
	}
	return nil
}

// ClusterIDBytes is the length of a ClusterID before it is written in hex.
const ClusterIDBytes = 16
