// Package events keeps the list of what happened, for people: who joined and who failed, what
// operators changed, what was repaired. /events and the dashboard read it.
//
//	log.go       Log: the newest events of this node, with ids
//	describe.go  the events of members, and of what was lost or repaired
//
// Ids rise by one, and across restarts: a reader names the last one that it saw and continues after
// it. The oldest events are forgotten (Kept). Nothing here is on disk.
//
// The Log compares each crawl document with the one before and adds what differs. Events that
// follow from the status (health, stalls) are found by package status and added by node. Nothing on
// a page's way takes part.
//
// No goroutine; a mutex is held for moments. Every method may be called from any goroutine.
package events
