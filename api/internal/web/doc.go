// Package web reads requests and writes answers for all operations of the API.
//
//   - Router finds the handler of an address.
//   - Query, Cursor and Precondition read parameters and headers.
//   - ReadBody reads a JSON body and names every wrong member.
//   - Answer is a success. Problem is everything else, as RFC 9457 describes it.
//   - Kinds is the table of codes: the HTTP status and the title of each.
//
// It knows no resource and no store. Its errors are a *fault.InvalidError about a field, or an
// *Error if HTTP has a special status for it.
package web
