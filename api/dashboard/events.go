package dashboard

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"

	"crawlnode/crawl"
)

// eventsAsked is how many events are looked through: all that a node remembers. eventsShown bounds
// those that a page lists.
const (
	eventsAsked = 1000
	eventsShown = 200
)

// noNode is the node of an event about the cluster.
const noNode = "cluster"

// eventFilter says which events are shown; an empty field leaves none out.
type eventFilter struct {
	Level, Code, Node, Text string
}

func (f *eventFilter) wants(e *crawl.Event) bool {
	return (f.Level == "" || e.Level == f.Level) && (f.Code == "" || e.Code == f.Code) &&
		(f.Node == "" || nodeOf(e) == f.Node) &&
		(f.Text == "" || strings.Contains(strings.ToLower(e.Message+" "+fmt.Sprint(e.Fields)),
			strings.ToLower(f.Text)))
}

// nodeOf is the node that an event is about, as the filter calls it.
func nodeOf(e *crawl.Event) string {
	if e.Node == "" {
		return noNode
	}
	return plain(e.Node)
}

// eventList is the page of events.
type eventList struct {
	Filter               eventFilter
	Levels, Codes, Nodes []string // to choose from
	Events               []crawl.Event
	Found, Total         int
}

func (d *Dashboard) events(
	ctx context.Context,
	w http.ResponseWriter,
	r *http.Request,
	st *crawl.Status,
) {
	all, err := d.backend.Events(ctx, 0, eventsAsked)
	if err != nil {
		d.fail(w, r, st, "/events", err)
		return
	}
	query := r.URL.Query()
	list := eventList{Filter: eventFilter{
		Level: query.Get("level"),
		Code:  query.Get("code"),
		Node:  query.Get("node"),
		Text:  query.Get("text"),
	},
		Levels: []string{crawl.EventInfo, crawl.EventWarn, crawl.EventError}, Total: len(all)}
	list.Codes, list.Nodes = []string{list.Filter.Code}, []string{plain(list.Filter.Node)}
	for i := range slices.Backward(all) { // the newest first
		e := &all[i]
		list.Codes, list.Nodes = append(list.Codes, e.Code), append(list.Nodes, nodeOf(e))
		if !list.Filter.wants(e) {
			continue
		}
		if list.Found++; list.Found <= eventsShown {
			list.Events = append(list.Events, *e)
		}
	}
	list.Codes, list.Nodes = choices(list.Codes), choices(list.Nodes)
	d.show(w, r, http.StatusOK, "events",
		page{Title: "Events", Nav: "/events", Status: st, Refresh: refreshOwn, Data: list})
}

// choices sorts words and leaves each once, without the empty one.
func choices(words []string) []string {
	slices.Sort(words)
	words = slices.Compact(words)
	return slices.DeleteFunc(words, func(s string) bool { return s == "" })
}
