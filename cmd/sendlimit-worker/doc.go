// Sendlimit-worker is worker under a name that can stand on a PATH.
package main
