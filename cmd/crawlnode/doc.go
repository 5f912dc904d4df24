// Command crawlnode is the crawler. It passes the process's arguments,
// streams, environment and signals to package cli and exits with the code that
// it returns.
package main
