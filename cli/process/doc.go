// Package process runs this program again, as a process of its own: nodes on
// loopback and other processes that a verb needs. bench and demo use it.
//
// The output of each process goes to a file in the Launcher's directory. One goroutine for
// each process waits for its end. Whoever starts a
// process ends it: Kill and Close return when it is gone. The package has no queue.
package process
