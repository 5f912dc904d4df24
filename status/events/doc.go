// Package events keeps a list of recent events for people: nodes that joined or failed, changes by
// operators, repairs. /events and the dashboard read it.
//
//	log.go       Log: the newest events of this node, with ids
//	describe.go  the events of members, and of what was lost or repaired
//
// Ids increase by one, and keep increasing across restarts: a reader names the last one that it saw
// and continues after it. The oldest events are forgotten (Kept). Nothing is stored on disk here.
// Package output/webhooks stores them for its receivers, if there are any: then an event is shown
// when it is stored (Hold), so that nobody sees an event that a crash keeps from the receivers.
//
// The Log compares each crawl document with the previous one and adds an event for each difference.
// Package status finds the events that follow from the status (health, stalls), and node adds them.
// Fetching a page adds no event.
//
// The package starts no goroutine. Every method may be called from any goroutine.
package events
