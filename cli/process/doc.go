// Package process runs this program again, as a process of its own: nodes on
// loopback and whatever else a verb needs. bench and demo use it.
//
// Each process prints into a file of the Launcher's directory. One goroutine for
// each process waits for its end; it ends with the process. Whoever starts a
// process ends it: Kill and Close return when it is gone. The package has no queue.
package process
