package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"crawlnode/crawl"
)

// orderTimeout bounds an operator's order: a decision of the members, or a call to each of them.
const orderTimeout = 10 * time.Second

// NodeOrder is the answer to an order about a node. The order is accepted then; /status shows its
// progress.
type NodeOrder struct {
	ID    crawl.NodeID `json:"id"`
	Name  string       `json:"name"` // "" when this node never heard of it
	Order string       `json:"order"`
}

func (s *server) drainNode(w http.ResponseWriter, r *http.Request) {
	s.orderNode(w, r, "drain", s.backend.DrainMember)
}

func (s *server) stopNode(w http.ResponseWriter, r *http.Request) {
	s.orderNode(w, r, "stop", s.backend.StopMember)
}

// stopAll ends all nodes.
func (s *server) stopAll(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	crawl.NoteOf(ctx).Set("", "stop all nodes")
	report, err := s.backend.StopAll(ctx)
	if err != nil {
		s.fail(w, r, fmt.Errorf("stop all nodes: %w", err))
		return
	}
	report.Stopping, report.Unanswered = orEmpty(report.Stopping), orEmpty(report.Unanswered)
	writeJSON(w, report)
}

func (s *server) forgetNode(w http.ResponseWriter, r *http.Request) {
	s.orderNode(w, r, "forget", s.backend.ForgetMember)
}

// weightBody and zoneBody are the bodies of the orders that place a node.
type (
	weightBody struct {
		Weight *int `json:"weight"`
	}
	zoneBody struct {
		Zone *string `json:"zone"`
	}
)

// maxPlaceBytes bounds those bodies.
const maxPlaceBytes = 1 << 10

func (s *server) weighNode(w http.ResponseWriter, r *http.Request) {
	var b weightBody
	body, ok := readBody(w, r, maxPlaceBytes, "send one weight")
	if !ok {
		return
	}
	if err := decodeStrict(body, &b); err != nil || b.Weight == nil {
		writeProblem(w, http.StatusBadRequest, `the body is not {"weight":2}`)
		return
	}
	s.placeNode(w, r, "weight", crawl.PlaceChange{Weight: b.Weight})
}

// zoneNode puts a node into a zone; null or "" takes it out of any.
func (s *server) zoneNode(w http.ResponseWriter, r *http.Request) {
	var b zoneBody
	body, ok := readBody(w, r, maxPlaceBytes, "send one zone")
	if !ok {
		return
	}
	// a body without a zone is a mistake, and takes no node out of its zone
	var given map[string]json.RawMessage
	if err := decodeStrict(body, &b); err != nil || json.Unmarshal(body, &given) != nil ||
		given["zone"] == nil {
		writeProblem(w, http.StatusBadRequest,
			`the body is not {"zone":"rack-7"}, or {"zone":null} for none`)
		return
	}
	if b.Zone == nil {
		b.Zone = new(string)
	}
	s.placeNode(w, r, "zone", crawl.PlaceChange{Zone: b.Zone})
}

func (s *server) placeNode(
	w http.ResponseWriter,
	r *http.Request,
	order string,
	change crawl.PlaceChange,
) {
	if err := change.Check(); err != nil {
		s.fail(w, r, fmt.Errorf("%s %s: %w", order, r.PathValue("id"), err))
		return
	}
	s.orderNode(w, r, order, func(ctx context.Context, id crawl.NodeID) error {
		crawl.NoteOf(ctx).Set("", fmt.Sprintf("%s %s to %s", order, id, change))
		return s.backend.PlaceMember(ctx, id, change)
	})
}

// orderNode gives an order for the node in the path.
func (s *server) orderNode(
	w http.ResponseWriter,
	r *http.Request,
	order string,
	give func(context.Context, crawl.NodeID) error,
) {
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	nodes, err := s.backend.Nodes(ctx)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	n, err := findNode(nodes, r.PathValue("id"), order == "forget")
	crawl.NoteOf(ctx).Set(n.State, order+" "+n.Name+" "+string(n.ID))
	if err == nil {
		err = give(ctx, n.ID)
	}
	if err != nil {
		s.fail(w, r, fmt.Errorf("%s %s: %w", order, r.PathValue("id"), err))
		return
	}
	writeJSON(w, NodeOrder{ID: n.ID, Name: n.Name, Order: order})
}

// findNode finds a node by its id or its name. Several nodes may have had the same name, one after
// the other. An order about a dead node then means the one that is away; any other order means the
// one that is present. A text that is not the name of a known node may still be an id that another
// member knows.
func findNode(nodes []crawl.NodeStatus, idOrName string, dead bool) (crawl.NodeStatus, error) {
	var named, fitting []crawl.NodeStatus
	for _, n := range nodes {
		if string(n.ID) == idOrName {
			return n, nil
		}
		if n.Name != idOrName {
			continue
		}
		named = append(named, n)
		if away := n.State == crawl.NodeFailed ||
			n.State == crawl.NodeSuspect; n.State != crawl.NodeLeft && away == dead {
			fitting = append(fitting, n)
		}
	}
	switch {
	case len(named) == 1:
		return named[0], nil
	case len(fitting) == 1:
		return fitting[0], nil
	case len(named) == 0:
		return crawl.NodeStatus{ID: crawl.NodeID(idOrName)}, nil
	}
	var ids []string
	for _, n := range named {
		ids = append(ids, string(n.ID)+" ("+n.State+")")
	}
	return crawl.NodeStatus{}, fmt.Errorf("%w: several nodes had this name: use the id of one: %s",
		crawl.ErrRefused, strings.Join(ids, ", "))
}

// crawlAction pauses, resumes or stops the crawl on every member.
func crawlAction(action string) func(*server, http.ResponseWriter, *http.Request) {
	return func(s *server, w http.ResponseWriter, r *http.Request) {
		ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
		defer cancel()
		if now, err := s.backend.CrawlConfig(ctx); err == nil {
			crawl.NoteOf(ctx).Set(now.State, action)
		}
		report, err := s.backend.ControlCrawl(ctx, action)
		if err != nil {
			s.fail(w, r, fmt.Errorf("%s: %w", action, err))
			return
		}
		report.Untold = orEmpty(report.Untold)
		writeJSON(w, report)
	}
}

// revokeToken ends a token.
func (s *server) revokeToken(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	crawl.NoteOf(ctx).Set("", "revoke "+r.PathValue("id"))
	report, err := s.backend.RevokeToken(ctx, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	report.Untold = orEmpty(report.Untold)
	writeJSON(w, report)
}

// maxKeyBytes bounds a key, which has 65, as JSON.
const maxKeyBytes = 4 << 10

// rotateKey replaces the cluster's key. The key is not recorded anywhere.
func (s *server) rotateKey(w http.ResponseWriter, r *http.Request) {
	body, ok := readBody(w, r, maxKeyBytes, "send one key")
	if !ok {
		return
	}
	var order crawl.KeyRotation
	if err := decodeStrict(body, &order); err != nil || order.Key == "" {
		writeProblem(w, http.StatusBadRequest, `the body is not {"key":"crawlnode-key-1:..."}`)
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), orderTimeout)
	defer cancel()
	crawl.NoteOf(ctx).Set("", "another key")
	report, err := s.backend.RotateKey(ctx, order.Key)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	crawl.NoteOf(ctx).Set("", "the key "+report.Fingerprint+": "+report.Step)
	report.Waiting = orEmpty(report.Waiting)
	writeJSON(w, report)
}

// codeOf is the HTTP status of a failure of the node.
func codeOf(err error) int {
	switch {
	case errors.Is(err, crawl.ErrUnknownNode), errors.Is(err, crawl.ErrUnknownHost),
		errors.Is(err, crawl.ErrNoCapture):
		return http.StatusNotFound
	case errors.Is(err, crawl.ErrBadQuery), errors.Is(err, crawl.ErrNoURL),
		errors.Is(err, crawl.ErrPlace):
		return http.StatusBadRequest
	case errors.Is(err, crawl.ErrForbidden):
		return http.StatusForbidden
	case errors.Is(err, crawl.ErrRefused):
		return http.StatusConflict
	case errors.Is(err, crawl.ErrChanged):
		return http.StatusPreconditionFailed
	case errors.Is(err, crawl.ErrLeaseEnded):
		return http.StatusGone
	case errors.Is(err, crawl.ErrTooManyLeased):
		return http.StatusTooManyRequests
	}
	if wrong := (*crawl.FieldErrors)(nil); errors.As(err, &wrong) {
		if wrong.Fixed {
			return http.StatusConflict
		}
		return http.StatusBadRequest
	}
	return http.StatusServiceUnavailable
}
