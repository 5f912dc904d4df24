package orders

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"crawlnode/crawl"
	"crawlnode/peer/fanout"
)

// message is an order on its way to the member that it is for. It is sent as JSON.
type message struct {
	Drain bool   `json:"drain"`
	Stop  string `json:"stop,omitempty"` // stopOne...
	// Place is a change of the member's weight or zone.
	Place *crawl.PlaceChange `json:"place,omitempty"`
}

// The values of message.Stop.
const (
	stopOne    = "one"    // this member stops, as with SIGTERM
	stopVisits = "visits" // all members stop: no more visits; the answer comes when none is open
	stopEnd    = "end"    // all members stop: the member ends
)

const (
	// visitsPatience is how long the coordinator waits for the open visits of all members: more than
	// a member waits for its own.
	visitsPatience = 5 * time.Second
	// endPatience is how long it waits until a member has taken the order to end.
	endPatience = 2 * time.Second
)

// Ender ends this node: *drain.Drainer.
type Ender interface {
	// HasHeir reports whether another member could take over.
	HasHeir() bool
	// Together has the node stop with its data in place, as all others do, once it ends. It is
	// called before Node.Begin.
	Together()
	// NoVisits is closed when no visit is open any more, after Together.
	NoVisits() <-chan struct{}
	// End has a node that stops together with the others end now.
	End()
}

// Node is what the package asks of the rest of this node. Any goroutine may call it. Only Send and
// SetPlace block.
type Node interface {
	// Others are the other members, without this node. It fails before this node has joined.
	Others() ([]crawl.NodeRef, error)
	// Knows reports whether this node has ever heard of another one.
	Knows(id crawl.NodeID) bool
	// Send sends an order to a member, whose Orders.Serve answers. Its error has a gRPC status.
	Send(ctx context.Context, to crawl.NodeID, payload []byte) error
	// Begin begins the end of this node. Called again it changes nothing.
	Begin()
	// Begun reports whether the end has begun.
	Begun() bool
	// SetPlace changes this node's weight or zone. It returns when the change is durable. Its error
	// wraps crawl.ErrPlace for a change that no node can have.
	SetPlace(ctx context.Context, c crawl.PlaceChange) error
}

// Options are the package's dependencies. All are required.
type Options struct {
	Self  crawl.NodeID
	Name  string
	Node  Node
	Ender Ender
	Log   *slog.Logger
}

// Orders gives orders to members, and obeys those of others.
type Orders struct{ o Options }

// New makes a node's Orders.
func New(o Options) *Orders { return &Orders{o} }

// Drain asks a member to hand its partitions over and to leave. It returns when the member has
// taken the order; an order given twice is one.
func (s *Orders) Drain(ctx context.Context, id crawl.NodeID) error {
	if id == s.o.Self {
		return s.obeyDrain()
	}
	return s.send(ctx, id, message{Drain: true})
}

// Stop ends a member as SIGTERM does. It returns when the member has taken the order.
func (s *Orders) Stop(ctx context.Context, id crawl.NodeID) error {
	if id == s.o.Self {
		s.obeyStop()
		return nil
	}
	return s.send(ctx, id, message{Stop: stopOne})
}

// Place changes a member's weight or zone. It returns when the member has stored the change.
func (s *Orders) Place(ctx context.Context, id crawl.NodeID, c crawl.PlaceChange) error {
	if id == s.o.Self {
		return s.obeyPlace(ctx, c)
	}
	if err := c.Check(); err != nil {
		return err
	}
	return s.send(ctx, id, message{Place: &c})
}

// StopAll ends all members with their data in place. It returns when all that answer have no visit
// open and end.
func (s *Orders) StopAll(ctx context.Context) (crawl.StopReport, error) {
	others, _ := s.o.Node.Others()
	s.o.Log.Info("an operator stops all nodes", "members", len(others)+1)
	visits, cancel := context.WithTimeout(ctx, visitsPatience)
	defer cancel()
	report := crawl.StopReport{
		Stopping:   []crawl.NodeRef{{ID: s.o.Self, Name: s.o.Name}},
		Unanswered: []string{},
	}
	ended := s.begin()
	var told []crawl.NodeRef
	for _, a := range fanout.Ask(others, func(m crawl.NodeRef) (struct{}, error) {
		return struct{}{}, s.send(visits, m.ID, message{Stop: stopVisits})
	}) {
		if a.Err != nil {
			s.o.Log.Warn("a member was not told to stop", "peer", a.Node.ID, "name", a.Node.Name, "error",
				a.Err)
			report.Unanswered = append(report.Unanswered, a.Node.Name)
			continue
		}
		told = append(told, a.Node)
	}
	select {
	case <-ended:
	case <-visits.Done():
	}
	// those that were told stop in any case
	end, cancel := context.WithTimeout(context.WithoutCancel(ctx), endPatience)
	defer cancel()
	fanout.Ask(told, func(m crawl.NodeRef) (struct{}, error) {
		return struct{}{}, s.send(end, m.ID, message{Stop: stopEnd})
	})
	s.o.Ender.End()
	report.Stopping = append(report.Stopping, told...)
	slices.Sort(report.Unanswered)
	return report, nil
}

// begin begins the end of this node together with all others. The channel is closed when no visit
// is open here.
func (s *Orders) begin() <-chan struct{} {
	s.o.Ender.Together()
	s.o.Node.Begin()
	return s.o.Ender.NoVisits()
}

// send sends an order to another member.
func (s *Orders) send(ctx context.Context, id crawl.NodeID, m message) error {
	others, err := s.o.Node.Others()
	if err != nil {
		return err
	}
	i := slices.IndexFunc(others, func(r crawl.NodeRef) bool { return r.ID == id })
	switch {
	case i < 0 && s.o.Node.Knows(id) && m.Place != nil:
		return fmt.Errorf("%w: it is no member now: start it with --weight and --zone", crawl.ErrRefused)
	case i < 0 && s.o.Node.Knows(id):
		return fmt.Errorf("%w: it is no member, so it holds nothing that could be handed over",
			crawl.ErrRefused)
	case i < 0:
		return fmt.Errorf("%w: crawlnode nodes list shows those that there are", crawl.ErrUnknownNode)
	}
	payload, err := json.Marshal(m)
	if err != nil {
		panic("BUG: " + err.Error())
	}
	err = s.o.Node.Send(ctx, id, payload)
	switch status.Code(err) {
	case codes.OK:
		s.o.Log.Info("a node was given an order", "order", m.String(), "peer", id, "name", others[i].Name)
		return nil
	case codes.FailedPrecondition, codes.InvalidArgument:
		return fmt.Errorf("%w: %s", crawl.ErrRefused, status.Convert(err).Message())
	}
	if m.Place != nil {
		return fmt.Errorf("%s does not answer; nodes list shows its weight and zone: "+
			"start it with --weight and --zone, or say it again when it answers (%w)", others[i].Name, err)
	}
	return fmt.Errorf(
		"%s does not answer: when it is dead, its partitions are taken over without a drain (%w)",
		others[i].Name, err)
}

func (m message) String() string {
	switch {
	case m.Drain:
		return "drain"
	case m.Place != nil:
		return m.Place.String()
	}
	return "stop " + m.Stop
}

// Serve carries out an order that another member passes on.
func (s *Orders) Serve(ctx context.Context, payload []byte) error {
	var m message
	if err := json.Unmarshal(payload, &m); err != nil {
		m = message{}
	}
	switch {
	case m.Drain:
		if err := s.obeyDrain(); err != nil {
			return status.Error(codes.FailedPrecondition,
				strings.TrimPrefix(err.Error(), crawl.ErrRefused.Error()+": "))
		}
	case m.Place != nil:
		switch err := s.obeyPlace(ctx, *m.Place); {
		case errors.Is(err, crawl.ErrPlace):
			return status.Error(codes.InvalidArgument, err.Error())
		case err != nil:
			return status.Error(codes.Unavailable, err.Error())
		}
	case m.Stop == stopOne:
		s.obeyStop()
	case m.Stop == stopVisits:
		s.o.Log.Info("an operator stops all nodes")
		select {
		case <-s.begin():
		case <-ctx.Done():
			return status.FromContextError(ctx.Err()).Err()
		}
	case m.Stop == stopEnd:
		s.o.Ender.End()
	default:
		return status.Error(codes.InvalidArgument, errUnknown.Error())
	}
	return nil
}

var errUnknown = errors.New("an order that this release does not know")

// obeyDrain begins the polite stop, unless that would only stop this node.
func (s *Orders) obeyDrain() error {
	if s.o.Node.Begun() {
		return nil
	}
	if !s.o.Ender.HasHeir() {
		return fmt.Errorf("%w: no other active member could take %s's partitions over: "+
			"add a node first, or stop it with crawlnode stop", crawl.ErrRefused, s.o.Name)
	}
	s.o.Log.Info("an operator asked this node to drain")
	s.o.Node.Begin()
	return nil
}

// obeyPlace changes this node's weight or zone.
func (s *Orders) obeyPlace(ctx context.Context, c crawl.PlaceChange) error {
	if err := c.Check(); err != nil {
		return err
	}
	s.o.Log.Info("an operator places this node", "order", c.String())
	return s.o.Node.SetPlace(ctx, c)
}

// obeyStop begins the polite stop.
func (s *Orders) obeyStop() {
	s.o.Log.Info("an operator stops this node")
	s.o.Node.Begin()
}
