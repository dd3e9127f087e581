// Package taskstest has what tests share that run submitters and workers.
package taskstest
