// Package seedwatch watches the seeds of a crawl until the first page is fetched: what they wait
// for, why they fail, and whether the crawl is hopeless.
//
// A crawl whose seeds cannot be fetched has nothing to do. The node itself retries for a long time,
// because a host may come back. A person who has mistyped a name wants to know at once. So the
// crawl verb asks the node for the reports of urls why and hosts show, prints them, and gives
// up when all seeds fail.
//
// The package starts no goroutine, and reads no clock; it asks the node through an Explainer.
package seedwatch
