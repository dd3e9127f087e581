// Written by "make clients" from the OpenAPI document. Do not edit it.

import { Caller, segment } from "./caller.js";
import type { CallOptions, ConditionalOptions, SubmitOptions, Versioned } from "./options.js";
import type { Pages } from "./pages.js";
import type * as api from "./schemas.js";

/** The operations of the API, by the names that the OpenAPI document gives them. */
export abstract class Operations extends Caller {
  /**
   * List the accounts.
   *
   * Sorted by name.
   *
   * Requires the scope admin.
   */
  listAccounts(query: api.ListAccountsQuery = {}, options: CallOptions = {}): Pages<api.Accounts, api.Account> {
    return this.pages({ method: "GET", path: `/v1/accounts`, query: { ...query }, member: "accounts" }, options);
  }

  /**
   * Create an account.
   *
   * Requires the scope admin.
   */
  createAccount(body: api.AccountDraft, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "POST", path: `/v1/accounts`, body, once: true }, options);
  }

  /**
   * Get an account.
   *
   * With its usage, and its callback and its progress. How many messages of the present hour
   * and day are charged: those that were sent and those still scheduled, by their send times.
   * Messages of later hours and days count there. If the tier limits requests per day, also the
   * number of requests.
   *
   * Requires the scope admin.
   */
  getAccount(account: string, options: CallOptions = {}): Promise<api.AccountDetails> {
    return this.value({ method: "GET", path: `/v1/accounts/${segment("account", account)}` }, options);
  }

  /**
   * Change an account.
   *
   * Takes effect within a second in every process. Messages already charged stay charged.
   *
   * Requires the scope admin.
   */
  changeAccount(account: string, body: api.AccountPatch, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "PATCH", path: `/v1/accounts/${segment("account", account)}`, body }, options);
  }

  /**
   * Remove the callback of an account.
   *
   * Removes the URL and its secret. Dead events stay. Each request is an entry of the audit
   * log, and the contact of the account is informed.
   *
   * Requires the scope admin.
   */
  removeCallback(account: string, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "DELETE", path: `/v1/accounts/${segment("account", account)}/callback` }, options);
  }

  /**
   * Set the callback of an account.
   *
   * Workers post the events of the account's messages to the URL, in signed batches of
   * CloudEvents: see the webhook `events`. A first URL gets the events from now on; another URL
   * continues where the former one stopped. The answer to the request that creates the secret
   * shows it. The events contain the metadata of the account's messages: for another account
   * the scope content is required too. Each request is an entry of the audit log, and the
   * contact of the account is informed of a change.
   *
   * Requires the scope admin.
   */
  setCallback(account: string, body: api.CallbackDraft, options: CallOptions = {}): Promise<api.Callback> {
    return this.value({ method: "PUT", path: `/v1/accounts/${segment("account", account)}/callback`, body, once: true }, options);
  }

  /**
   * Replace the secret of a callback.
   *
   * During the overlap both secrets sign, so that you can install the new one:
   * `webhook-signature` has two signatures then. Each request, even a repeated one, creates a
   * secret and an entry of the audit log, and informs the contact of the account.
   *
   * Requires the scope admin.
   */
  rotateCallbackSecret(account: string, body: api.SecretRotation, options: CallOptions = {}): Promise<api.Callback> {
    return this.value({ method: "POST", path: `/v1/accounts/${segment("account", account)}/callback/rotate`, body, once: true }, options);
  }

  /**
   * Add an API key to an account.
   *
   * The other keys stay valid. rotateAccountKey replaces one. Each request creates a key, even
   * a repeated one.
   *
   * Requires the scope admin.
   */
  addAccountKey(account: string, body: api.KeyDraft, options: CallOptions = {}): Promise<api.NewKey> {
    return this.value({ method: "POST", path: `/v1/accounts/${segment("account", account)}/keys`, body, once: true }, options);
  }

  /**
   * Remove an API key.
   *
   * The key becomes invalid within a second in every process.
   *
   * Requires the scope admin.
   */
  removeAccountKey(account: string, key: string, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "DELETE", path: `/v1/accounts/${segment("account", account)}/keys/${segment("key", key)}` }, options);
  }

  /**
   * Replace an API key.
   *
   * Creates a key with the same scopes, which does not expire. The old key stays valid for the
   * overlap, unless it expires earlier, so that you can install the new one. Each request
   * creates a key, even a repeated one; none extends the life of the old key.
   *
   * Requires the scope admin.
   */
  rotateAccountKey(account: string, key: string, body: api.KeyRotation, options: CallOptions = {}): Promise<api.NewKey> {
    return this.value({ method: "POST", path: `/v1/accounts/${segment("account", account)}/keys/${segment("key", key)}/rotate`, body, once: true }, options);
  }

  /**
   * List the changes that operators made.
   *
   * Changes with a key that has the scope admin, on the dashboard, or by a command, newest
   * first. Without the scope admin you see changes by your account, and changes that operators
   * made to your data. For submits, moves and cancels of accounts, see the history and the
   * events of messages. Entries of operators are kept for 400 days.
   *
   * Requires the scope read.
   */
  listAuditEntries(query: api.ListAuditEntriesQuery = {}, options: CallOptions = {}): Pages<api.AuditEntries, api.AuditEntry> {
    return this.pages({ method: "GET", path: `/v1/audit`, query: { ...query }, member: "entries" }, options);
  }

  /**
   * Count the messages of a campaign.
   *
   * Counts them by status, as long as their records are kept. An unknown campaign has none. GET
   * /v1/messages?campaign= lists them. If counting takes long, the answer has the counts so
   * far, and `more`: continue with GET and this value, until an answer has no `more`. Two are
   * counted at a time; others are answered with 429.
   *
   * Requires the scope read.
   */
  countCampaign(campaign: string, query: api.CountCampaignQuery = {}, options: CallOptions = {}): Promise<api.CampaignStatus> {
    return this.value({ method: "GET", path: `/v1/campaigns/${segment("campaign", campaign)}`, query: { ...query } }, options);
  }

  /**
   * Cancel the messages of a campaign.
   *
   * Ends the campaign: from 4 seconds after the request on, nothing is accepted for it, and the
   * code is campaign_ended. Then all messages that are not sent yet are cancelled, and their
   * contents erased; messages being sent are waited for. After a request that stopped early,
   * the same request continues. A campaign without messages can't be cancelled. POST …/reopen
   * lets it have messages again. The summary is `campaign_cancelled`. A `progress` line comes
   * at once, and then at most every second; while the messages are counted first, `messages`
   * grows. Each refused message is a line. The summary is the last line. If the request stops
   * early, the summary covers the completed part, and the last line is a problem's outcome. The
   * request ends with the connection. At most two such requests run at a time; others get 429.
   *
   * Requires the scope submit.
   */
  cancelCampaign(campaign: string, query: api.CancelCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/cancel`, query: { ...query } }, options);
  }

  /**
   * Move the messages of a campaign by a duration.
   *
   * Moves all messages that are not sent yet. A message whose new time is refused keeps its
   * place, and is a line. dry_run changes nothing: each message is judged as if only this one
   * were moved. After a request that stopped early, the same request continues, and moves no
   * message twice. After a complete one, it moves the campaign again. While another request
   * moves the campaign, the answer is campaign_running. The summary is `campaign_moved` or
   * `campaign_dry_run`. A `progress` line comes at once, and then at most every second; while
   * the messages are counted first, `messages` grows. Each refused message is a line. The
   * summary is the last line. If the request stops early, the summary covers the completed
   * part, and the last line is a problem's outcome. The request ends with the connection. At
   * most two such requests run at a time; others get 429.
   *
   * Requires the scope submit.
   */
  moveCampaign(campaign: string, body: api.CampaignMoveDraft, query: api.MoveCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/move`, body, query: { ...query }, once: true }, options);
  }

  /**
   * Pause a campaign.
   *
   * Its messages keep their places, and are not delivered. Every worker follows within 4
   * seconds; messages being sent are still sent. Messages that expire meanwhile are dropped.
   * Pausing twice is no error. At most 200 campaigns of an account are paused at a time, and a
   * campaign without messages can't be paused. Then the messages are counted. If counting takes
   * long, the answer has the counts so far, and `more`: continue with GET and this value, until
   * an answer has no `more`.
   *
   * Requires the scope submit.
   */
  pauseCampaign(campaign: string, query: api.PauseCampaignQuery = {}, options: CallOptions = {}): Promise<api.CampaignStatus> {
    return this.value({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/pause`, query: { ...query } }, options);
  }

  /**
   * Accept messages for a cancelled campaign again.
   *
   * Cancelled messages stay cancelled. Every program follows within 4 seconds. Reopening twice
   * is no error. Then the messages are counted. If counting takes long, the answer has the
   * counts so far, and `more`: continue with GET and this value, until an answer has no `more`.
   *
   * Requires the scope submit.
   */
  reopenCampaign(campaign: string, query: api.ReopenCampaignQuery = {}, options: CallOptions = {}): Promise<api.CampaignStatus> {
    return this.value({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/reopen`, query: { ...query } }, options);
  }

  /**
   * Resume a paused campaign.
   *
   * Messages whose time has passed are late: each gets the next free time by the rules. It
   * takes 4 seconds until every worker knows. After a request that stopped early, each message
   * is judged within an hour. The summary is `campaign_resumed`. A `progress` line comes at
   * once, and then at most every second; while the messages are counted first, `messages`
   * grows. Each refused message is a line. The summary is the last line. If the request stops
   * early, the summary covers the completed part, and the last line is a problem's outcome. The
   * request ends with the connection. At most two such requests run at a time; others get 429.
   *
   * Requires the scope submit.
   */
  resumeCampaign(campaign: string, query: api.ResumeCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/resume`, query: { ...query } }, options);
  }

  /**
   * List the channels and their states.
   *
   * Lists channels that have delivered something or are stopped. A channel whose provider
   * refuses the credentials is stopped for all workers. Its messages wait, and no attempt
   * counts. Workers probe it once a minute, and resume it when a probe succeeds.
   *
   * Requires the scope admin.
   */
  listChannels(options: CallOptions = {}): Promise<api.Channels> {
    return this.value({ method: "GET", path: `/v1/channels` }, options);
  }

  /**
   * Resume a stopped channel.
   *
   * All workers follow within 2 seconds. If its provider reported all devices as gone, correct
   * project, key and environment first: from now on, devices that it reports as gone are
   * removed.
   *
   * Requires the scope admin.
   */
  resumeChannel(channel: string, options: CallOptions = {}): Promise<api.ChannelResume> {
    return this.value({ method: "POST", path: `/v1/channels/${segment("channel", channel)}/resume` }, options);
  }

  /**
   * Remove old alerts and reports that could not be delivered.
   *
   * Removes their content, oldest first. The alerts are not raised again. Send the request
   * again while the answer has `more`.
   *
   * Requires the scope admin.
   */
  purgeDeadAlerts(query: api.PurgeDeadAlertsQuery, options: CallOptions = {}): Promise<api.DeadPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-alerts`, query: { ...query } }, options);
  }

  /**
   * List alerts and reports that could not be delivered.
   *
   * Oldest first. Their contacts did not accept them within alert_retry_for.
   *
   * Requires the scope admin.
   */
  listDeadAlerts(query: api.ListDeadAlertsQuery = {}, options: CallOptions = {}): Pages<api.DeadAlerts, api.DeadAlert> {
    return this.pages({ method: "GET", path: `/v1/dead-alerts`, query: { ...query }, member: "dead_alerts" }, options);
  }

  /**
   * Remove an alert or report that could not be delivered.
   *
   * Removes its content. The alert is not raised again.
   *
   * Requires the scope admin.
   */
  purgeDeadAlert(alert: string, options: CallOptions = {}): Promise<api.AlertDone> {
    return this.value({ method: "DELETE", path: `/v1/dead-alerts/${segment("alert", alert)}` }, options);
  }

  /**
   * Get an alert or report that could not be delivered.
   *
   * Requires the scope admin.
   */
  getDeadAlert(alert: string, options: CallOptions = {}): Promise<api.DeadAlert> {
    return this.value({ method: "GET", path: `/v1/dead-alerts/${segment("alert", alert)}` }, options);
  }

  /**
   * Retry an alert or report that could not be delivered.
   *
   * It is tried again for alert_retry_for.
   *
   * Requires the scope admin.
   */
  retryDeadAlert(alert: string, options: CallOptions = {}): Promise<api.AlertDone> {
    return this.value({ method: "POST", path: `/v1/dead-alerts/${segment("alert", alert)}/retry` }, options);
  }

  /**
   * Remove dead events.
   *
   * Removes the one with the given id, otherwise all of the account.
   *
   * Requires the scope submit.
   */
  purgeDeadEvents(query: api.PurgeDeadEventsQuery = {}, options: CallOptions = {}): Promise<api.DeadEventsPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-events`, query: { ...query } }, options);
  }

  /**
   * List the dead events of an account.
   *
   * Lists events that the callback did not accept in time, oldest first. A key with the scope
   * admin sees the metadata of other accounts' messages only with the scope content. Each such
   * access is logged.
   *
   * Requires the scope read.
   */
  listDeadEvents(query: api.ListDeadEventsQuery = {}, options: CallOptions = {}): Pages<api.DeadEvents, api.DeadEvent> {
    return this.pages({ method: "GET", path: `/v1/dead-events`, query: { ...query }, member: "dead_events" }, options);
  }

  /**
   * Post dead events again.
   *
   * Appends dead events to the account's events, with new ids: the one with the given id,
   * otherwise the oldest ones. Clients that follow the account's events see them again too.
   * `left` is the number of remaining dead events.
   *
   * Requires the scope submit.
   */
  retryDeadEvents(query: api.RetryDeadEventsQuery = {}, options: CallOptions = {}): Promise<api.DeadEventsRetry> {
    return this.value({ method: "POST", path: `/v1/dead-events/retry`, query: { ...query }, once: true }, options);
  }

  /**
   * Remove old dead letters.
   *
   * Removes their content, their records and their ids, oldest first. Send the request again
   * while the answer has `more`.
   *
   * Requires the scope admin.
   */
  purgeDeadLetters(query: api.PurgeDeadLettersQuery, options: CallOptions = {}): Promise<api.DeadPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-letters`, query: { ...query } }, options);
  }

  /**
   * List dead letters.
   *
   * Without their content, oldest first. A page that a filter makes short has `next_cursor`
   * while there may be more. A key with the scope admin sees the metadata of other accounts'
   * messages only with the scope content. Each such access is logged.
   *
   * Requires the scope admin.
   */
  listDeadLetters(query: api.ListDeadLettersQuery = {}, options: CallOptions = {}): Pages<api.DeadLetters, api.Status> {
    return this.pages({ method: "GET", path: `/v1/dead-letters`, query: { ...query }, member: "dead_letters" }, options);
  }

  /**
   * Send dead letters again, oldest first.
   *
   * Each is scheduled as by retryDeadLetter. A refused one stays a dead letter, and its outcome
   * has the reason. While the answer has `next_cursor`, send the request again with it: no
   * message that fails again meanwhile is retried twice.
   *
   * Requires the scope admin.
   */
  retryDeadLetters(query: api.RetryDeadLettersQuery = {}, options: CallOptions = {}): Pages<api.DeadRetry, api.Outcome> {
    return this.pages({ method: "POST", path: `/v1/dead-letters/retry`, query: { ...query }, member: "outcomes" }, options);
  }

  /**
   * List the events that have limits.
   *
   * Sorted by name.
   *
   * Requires the scope admin.
   */
  listEventLimits(query: api.ListEventLimitsQuery = {}, options: CallOptions = {}): Pages<api.EventLimitsList, api.EventLimits> {
    return this.pages({ method: "GET", path: `/v1/event-limits`, query: { ...query }, member: "events" }, options);
  }

  /**
   * Remove the limits and alerts of an event.
   *
   * The event may then happen any number of times, beside the limits of tiers.
   *
   * Requires the scope admin.
   */
  removeEventLimits(event: string, options: CallOptions = {}): Promise<api.EventLimitsRemoval> {
    return this.value({ method: "DELETE", path: `/v1/event-limits/${segment("event", event)}` }, options);
  }

  /**
   * Get the limits of an event.
   *
   * Requires the scope admin.
   */
  getEventLimits(event: string, options: CallOptions = {}): Promise<api.EventLimits> {
    return this.value({ method: "GET", path: `/v1/event-limits/${segment("event", event)}` }, options);
  }

  /**
   * Set or replace the limits and alerts of an event.
   *
   * Limits how often the event may happen for each key. This API counts the requests of each
   * account as these events, beside the limits of its tier: `submit` counts requests that
   * submit: a message, a dry run, or a batch; `read` counts requests that read (GET); `change`
   * counts all other requests, such as moves and cancels. Another event requires `custom`.
   * Takes effect with the next request; counts are kept. Each percent of `alert_at` alerts once
   * for each key and period.
   *
   * Requires the scope admin.
   */
  setEventLimits(event: string, body: api.EventLimitsDraft, options: CallOptions = {}): Promise<api.EventLimits> {
    return this.value({ method: "PUT", path: `/v1/event-limits/${segment("event", event)}`, body }, options);
  }

  /**
   * Get how many messages are due when.
   *
   * Counted while clients request it, with at most 0.5 % of the store's time: with few messages
   * it is a few seconds old, with millions some minutes.
   *
   * Requires the scope admin.
   */
  getForecast(options: CallOptions = {}): Promise<api.Forecast> {
    return this.value({ method: "GET", path: `/v1/forecast` }, options);
  }

  /**
   * List messages of all users.
   *
   * Lists messages that match all given parameters, in no particular order. A key without the
   * scope admin finds only the messages of its account. Pages stay consistent while messages
   * are submitted, moved, sent and cancelled: a message that exists from the first page to the
   * last is listed once. A page reads about 20,000 messages, so it may be short, or empty
   * although more follow: continue until there is no next_cursor. Give the same parameters with
   * a cursor. Two pages are read at a time, one of an account; others wait for at most 5
   * seconds. With the setting index: false the answer is index_off. Messages that were accepted
   * while it was false are not found. With campaign, the list works without the index. A key
   * with the scope admin sees the metadata of other accounts' messages only with the scope
   * content. Each such access is logged.
   *
   * Requires the scope read.
   */
  findMessages(query: api.FindMessagesQuery = {}, options: CallOptions = {}): Pages<api.Messages, api.Status> {
    return this.pages({ method: "GET", path: `/v1/messages`, query: { ...query }, member: "messages" }, options);
  }

  /**
   * Submit a message.
   *
   * Accepts a message if its send time is free under the user's rules. An accepted message is
   * sent even if this server ends right after. With an id the request can be repeated, and the
   * message is accepted once. Without an id the server generates one.
   *
   * Requires the scope submit.
   */
  submitMessage(body: api.Draft, options: SubmitOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "POST", path: `/v1/messages`, body, keyed: true }, options);
  }

  /**
   * Dry run of a message.
   *
   * Answers like a submit, or with replace like putMessage, but stores nothing. The time is not
   * reserved.
   *
   * Requires the scope submit.
   */
  checkMessage(body: api.Draft, query: api.CheckMessageQuery = {}, options: SubmitOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "POST", path: `/v1/messages/dry-run`, body, query: { ...query }, keyed: true }, options);
  }

  /**
   * Find messages of all users by their id.
   *
   * Ids are unique for each user: if several users have the id, all their messages are listed,
   * in no particular order. A key without the scope admin finds only the messages of its
   * account. A key with the scope admin sees the content (title, body, data and push options)
   * and metadata of other accounts' messages only with the scope content. Each such access is
   * logged. Two pages are read at a time, one of an account; others wait for at most 5 seconds.
   * With the setting index: false the answer is index_off. Messages that were accepted while it
   * was false are not found.
   *
   * Requires the scope read.
   */
  findMessage(id: string, query: api.FindMessageQuery = {}, options: CallOptions = {}): Pages<api.Found, api.Status> {
    return this.pages({ method: "GET", path: `/v1/messages/${segment("id", id)}`, query: { ...query }, member: "messages" }, options);
  }

  /**
   * Get an overview of the system.
   *
   * Outcomes of the last hour, workers, and problems, as on the dashboard. It is at most a
   * second old; lists of the whole store at most 15 seconds. See also listChannels and
   * getForecast.
   *
   * Requires the scope admin.
   */
  getOverview(options: CallOptions = {}): Promise<api.Overview> {
    return this.value({ method: "GET", path: `/v1/overview` }, options);
  }

  /**
   * Remove the pace, and end a pause.
   *
   * Ends a pause that the target requested, and forgets how fast it accepts calls. A worker
   * with a pace in its settings sets it again when it starts.
   *
   * Requires the scope admin.
   */
  clearPace(query: api.ClearPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "DELETE", path: `/v1/pace`, query: { ...query } }, options);
  }

  /**
   * Get the pace of all workers together.
   *
   * Includes a pause that the target requested.
   *
   * Requires the scope admin.
   */
  getPace(query: api.GetPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "GET", path: `/v1/pace`, query: { ...query } }, options);
  }

  /**
   * Set or replace the pace.
   *
   * No interval of the rate, such as a second, has more deliveries than the rate allows. With a
   * burst, at most so many deliveries start at once and the others follow one by one. Workers
   * follow within 2 seconds, even for waiting messages. A message that the pace makes late is
   * judged like every late message.
   *
   * Requires the scope admin.
   */
  setPace(body: api.PaceDraft, query: api.SetPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "PUT", path: `/v1/pace`, body, query: { ...query } }, options);
  }

  /**
   * List the policies.
   *
   * Sorted by name.
   *
   * Requires the scope admin.
   */
  listPolicies(query: api.ListPoliciesQuery = {}, options: CallOptions = {}): Pages<api.Policies, api.Policy> {
    return this.pages({ method: "GET", path: `/v1/policies`, query: { ...query }, member: "policies" }, options);
  }

  /**
   * Delete a policy.
   *
   * Refused for the default policy, and with the code policy_in_use while settings of users
   * name the policy: listUsers with policy= finds them. Its versions are kept for 30 days, and
   * rollbackPolicy restores it.
   *
   * Requires the scope admin.
   */
  deletePolicy(policy: string, options: ConditionalOptions = {}): Promise<api.PolicyDeletion> {
    return this.value({ method: "DELETE", path: `/v1/policies/${segment("policy", policy)}` }, options);
  }

  /**
   * Get a policy.
   *
   * In the form that applyPolicy accepts. With If-None-Match and its ETag, the answer is 304
   * until the policy changes.
   *
   * Requires the scope admin.
   */
  getPolicy(policy: string, options: CallOptions = {}): Promise<api.Policy & Versioned> {
    return this.versioned({ method: "GET", path: `/v1/policies/${segment("policy", policy)}` }, options);
  }

  /**
   * Create or replace a policy.
   *
   * Takes effect within two seconds in every program. An invalid policy is not stored. An
   * absent field gets its default, not its old value. Scheduled messages keep their places and
   * are sent as promised: dryRunPolicy lists those that would not fit, and refitPolicy moves or
   * cancels them. Applying the same policy again changes nothing, whatever version If-Match
   * names.
   *
   * Requires the scope admin.
   */
  applyPolicy(policy: string, body: api.PolicyDocument, options: ConditionalOptions = {}): Promise<api.PolicyChange & Versioned> {
    return this.versioned({ method: "PUT", path: `/v1/policies/${segment("policy", policy)}`, body }, options);
  }

  /**
   * Dry run of a policy.
   *
   * Changes nothing. Each message that would not fit is a line. Messages are checked by time: a
   * message fits if it breaks no rule together with the earlier ones that fit. A `progress`
   * line comes first and then every second. The summary is the last line: `dry_run` or
   * `refitted`. If the request stops early, the summary covers the checked part, and the last
   * line is a problem's outcome. The request ends with the connection. It uses at most half of
   * the store's time. Only one runs at a time; others get 429.
   *
   * Requires the scope admin.
   */
  dryRunPolicy(policy: string, body: api.PolicyDocument, options: CallOptions = {}): AsyncGenerator<api.RefitProgress | api.Misfit | api.RefitSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/dry-run`, body }, options);
  }

  /**
   * Move or cancel scheduled messages that do not fit a policy.
   *
   * Uses the stored policy. It can be stopped at any time: the same request for the same
   * version continues where it stopped. It starts two seconds after the first line, when every
   * program follows the policy. Each message that does not fit is a line. A `progress` line
   * comes first and then every second. The summary is the last line: `dry_run` or `refitted`.
   * If the request stops early, the summary covers the checked part, and the last line is a
   * problem's outcome. The request ends with the connection. It uses at most half of the
   * store's time. Only one runs at a time; others get 429.
   *
   * Requires the scope admin.
   */
  refitPolicy(policy: string, query: api.RefitPolicyQuery, options: CallOptions = {}): AsyncGenerator<api.RefitProgress | api.Misfit | api.RefitSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/refit`, query: { ...query } }, options);
  }

  /**
   * Store an earlier version of a policy again.
   *
   * Stores it under a new version, as applyPolicy does. A deleted policy is restored. If the
   * policy already equals that version, nothing changes.
   *
   * Requires the scope admin.
   */
  rollbackPolicy(policy: string, body: api.PolicyRollback, options: ConditionalOptions = {}): Promise<api.PolicyChange & Versioned> {
    return this.versioned({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/rollback`, body }, options);
  }

  /**
   * List the versions of a policy.
   *
   * With who stored each, and when. At most 100 are kept; versions of a deleted policy for 30
   * days.
   *
   * Requires the scope admin.
   */
  listPolicyVersions(policy: string, options: CallOptions = {}): Promise<api.PolicyVersions> {
    return this.value({ method: "GET", path: `/v1/policies/${segment("policy", policy)}/versions` }, options);
  }

  /**
   * Get whether all sending is stopped.
   *
   * With who stopped it, since when and why.
   *
   * Requires the scope admin.
   */
  getSending(options: CallOptions = {}): Promise<api.Sending> {
    return this.value({ method: "GET", path: `/v1/sending` }, options);
  }

  /**
   * Start all sending again.
   *
   * Workers follow within 2 seconds. Messages that have become late are judged like all late
   * messages: the rules hold, and their order is kept.
   *
   * Requires the scope admin.
   */
  startSending(options: CallOptions = {}): Promise<api.SendingChange> {
    return this.value({ method: "POST", path: `/v1/sending/start` }, options);
  }

  /**
   * Stop all sending.
   *
   * No worker begins another delivery 2 seconds after the answer, until startSending. Calls to
   * providers that have begun end as always. Messages are still accepted, refused and judged as
   * always. Due ones wait without an attempt, and end at their expiry. Alerts, reports and
   * events are sent on.
   *
   * Requires the scope admin.
   */
  stopSending(body: api.SendingStopDraft, options: CallOptions = {}): Promise<api.SendingChange> {
    return this.value({ method: "POST", path: `/v1/sending/stop`, body }, options);
  }

  /**
   * List the sessions of the dashboard.
   *
   * Requires the scope admin.
   */
  listSessions(options: CallOptions = {}): Promise<api.Sessions> {
    return this.value({ method: "GET", path: `/v1/sessions` }, options);
  }

  /**
   * End a session of the dashboard.
   *
   * Every process follows within a second.
   *
   * Requires the scope admin.
   */
  endSession(session: string, options: CallOptions = {}): Promise<api.SessionEnd> {
    return this.value({ method: "DELETE", path: `/v1/sessions/${segment("session", session)}` }, options);
  }

  /**
   * Get the state of the queue and the store.
   *
   * A part of /metrics, as JSON.
   *
   * Requires the scope admin.
   */
  getStats(options: CallOptions = {}): Promise<api.Stats> {
    return this.value({ method: "GET", path: `/v1/stats` }, options);
  }

  /**
   * List the tiers.
   *
   * Sorted by name.
   *
   * Requires the scope admin.
   */
  listTiers(query: api.ListTiersQuery = {}, options: CallOptions = {}): Pages<api.Tiers, api.Tier> {
    return this.pages({ method: "GET", path: `/v1/tiers`, query: { ...query }, member: "tiers" }, options);
  }

  /**
   * Remove a tier.
   *
   * Refused while an account has the tier: detail names one. Give it another tier, or none,
   * with changeAccount. A tier in the settings of a worker is created again when the worker
   * starts.
   *
   * Requires the scope admin.
   */
  removeTier(tier: string, options: CallOptions = {}): Promise<api.TierRemoval> {
    return this.value({ method: "DELETE", path: `/v1/tiers/${segment("tier", tier)}` }, options);
  }

  /**
   * Get a tier.
   *
   * Requires the scope admin.
   */
  getTier(tier: string, options: CallOptions = {}): Promise<api.Tier> {
    return this.value({ method: "GET", path: `/v1/tiers/${segment("tier", tier)}` }, options);
  }

  /**
   * Create or replace a tier.
   *
   * Takes effect for all its accounts within a second in every process. Messages already
   * charged stay charged. If they are over a threshold of a lower quota, the accounts' contacts
   * are alerted; the thresholds of a higher quota alert again.
   *
   * Requires the scope admin.
   */
  setTier(tier: string, body: api.TierLimits, options: CallOptions = {}): Promise<api.Tier> {
    return this.value({ method: "PUT", path: `/v1/tiers/${segment("tier", tier)}`, body }, options);
  }

  /**
   * Get the usage of the key's account.
   *
   * How many messages of the present hour and day are charged: those that were sent and those
   * still scheduled, by their send times. Messages of later hours and days count there. If the
   * tier limits requests per day, also the number of requests. Without a key there is no
   * account, and the answer is 404.
   *
   * Requires the scope read.
   */
  getOwnUsage(options: CallOptions = {}): Promise<api.AccountUsage> {
    return this.value({ method: "GET", path: `/v1/usage` }, options);
  }

  /**
   * List users with settings.
   *
   * In the order of the store: not by name, but the same each time. Users without settings are
   * not listed.
   *
   * Requires the scope admin.
   */
  listUsers(query: api.ListUsersQuery = {}, options: CallOptions = {}): Pages<api.Users, api.ListedUser> {
    return this.pages({ method: "GET", path: `/v1/users`, query: { ...query }, member: "users" }, options);
  }

  /**
   * Erase all data of a user, and cancel the user's messages.
   *
   * This can't be undone. Erasing again is safe. Stop submitting for the user first: a message
   * accepted meanwhile may stay. It continues if the connection ends. Backups keep their data.
   * The summary `erased` is the last line. It looks at every key of the user's server, so only
   * one export or erasure runs at a time and others are answered with 429. A `progress` line
   * comes from time to time. If it stops early, the last line is a problem's outcome.
   *
   * Requires the scope admin.
   */
  eraseUser(user: string, query: api.EraseUserQuery = {}, options: CallOptions = {}): AsyncGenerator<api.UserProgress | api.UserErasure, void, undefined> {
    return this.lines({ method: "DELETE", path: `/v1/users/${segment("user", user)}`, query: { ...query } }, options);
  }

  /**
   * Remove a dead letter.
   *
   * Removes its content, its record and its id.
   *
   * Requires the scope admin.
   */
  purgeDeadLetter(user: string, id: string, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "DELETE", path: `/v1/users/${segment("user", user)}/dead-letters/${segment("id", id)}` }, options);
  }

  /**
   * Get a dead letter.
   *
   * A key with the scope admin sees the content (title, body, data and push options) and
   * metadata of other accounts' messages only with the scope content. Each such access is
   * logged.
   *
   * Requires the scope admin.
   */
  getDeadLetter(user: string, id: string, query: api.GetDeadLetterQuery = {}, options: CallOptions = {}): Promise<api.Status> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/dead-letters/${segment("id", id)}`, query: { ...query } }, options);
  }

  /**
   * Send a dead letter again.
   *
   * Schedules it at its user's next free time, with all its attempts. If that is not possible,
   * it stays a dead letter.
   *
   * Requires the scope admin.
   */
  retryDeadLetter(user: string, id: string, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "POST", path: `/v1/users/${segment("user", user)}/dead-letters/${segment("id", id)}/retry` }, options);
  }

  /**
   * List a user's devices.
   *
   * Lists the devices that get the user's messages. A key without the scope admin reaches only
   * the devices that its account registered. Addresses are masked unless the key has the scope
   * content. Each such access is logged.
   *
   * Requires the scope read.
   */
  listDevices(user: string, options: CallOptions = {}): Promise<api.Devices> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/devices` }, options);
  }

  /**
   * Register a device of a user.
   *
   * Call it whenever the app starts or gets another token: registering again is safe. The
   * device belongs to the account of the key, and replaces a device of the account with the
   * same id or the same address. An account registers at most 100 devices of a user, and at
   * most as many of all users as its tier allows; a registered device can always be registered
   * again. A phone has one user at a time: other users of the account lose the address, and so
   * do devices without an account. A caller without an account takes it from all accounts. With
   * the server's setting shared_devices nobody loses it.
   *
   * Requires the scope submit.
   */
  addDevice(user: string, body: api.DeviceDraft, options: CallOptions = {}): Promise<api.DeviceChange> {
    return this.value({ method: "POST", path: `/v1/users/${segment("user", user)}/devices`, body }, options);
  }

  /**
   * Remove a device of a user.
   *
   * It gets no more messages; one that is being sent may still arrive. A key without the scope
   * admin reaches only the devices that its account registered.
   *
   * Requires the scope submit.
   */
  removeDevice(user: string, device: string, options: CallOptions = {}): Promise<api.DeviceRemoval> {
    return this.value({ method: "DELETE", path: `/v1/users/${segment("user", user)}/devices/${segment("device", device)}` }, options);
  }

  /**
   * Export all data of a user.
   *
   * Each entry is a line: of the timeline, the messages (including ended ones), the settings,
   * alerts, dead letters, the watch list, the queue, and traces of dry runs. The summary
   * `exported` is the last line. The request ends with the connection. It looks at every key of
   * the user's server, so only one export or erasure runs at a time and others are answered
   * with 429. A `progress` line comes from time to time. If it stops early, the last line is a
   * problem's outcome.
   *
   * A key with the scope admin sees the content (title, body, data and push options) and
   * metadata of other accounts' messages only with the scope content. Each such access is
   * logged. Each export is logged too.
   *
   * Requires the scope admin.
   */
  exportUser(user: string, options: CallOptions = {}): AsyncGenerator<api.UserProgress | api.UserEntry | api.UserExport, void, undefined> {
    return this.lines({ method: "GET", path: `/v1/users/${segment("user", user)}/export` }, options);
  }

  /**
   * List a user's messages.
   *
   * Sorted by send time, with their statuses. The list has scheduled and late messages, and
   * sent messages as long as a rule can still count them. Cancelled, dropped and failed
   * messages are listed at their planned send time as long as their records are kept. A key
   * without the scope admin lists only the messages of its account. A key with the scope admin
   * sees the metadata of other accounts' messages only with the scope content. Each such access
   * is logged.
   *
   * Requires the scope read.
   */
  listMessages(user: string, query: api.ListMessagesQuery = {}, options: CallOptions = {}): Pages<api.Messages, api.Status> {
    return this.pages({ method: "GET", path: `/v1/users/${segment("user", user)}/messages`, query: { ...query }, member: "messages" }, options);
  }

  /**
   * Cancel a message.
   *
   * Possible until the message is being sent. Erases its content. If an earlier delivery may
   * have arrived, its place still counts. Cancelling twice is no error, and sets replayed.
   *
   * Requires the scope submit.
   */
  cancelMessage(user: string, id: string, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "DELETE", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}` }, options);
  }

  /**
   * Get a message and its status.
   *
   * The status is kept for a time after the message ended, by default 7 days. The content, from
   * title to to, is shown until the message ends; a dead letter keeps it, and metadata stays. A
   * key with the scope admin sees the content (title, body, data and push options) and metadata
   * of other accounts' messages only with the scope content. Each such access is logged.
   *
   * Requires the scope read.
   */
  getMessage(user: string, id: string, options: CallOptions = {}): Promise<api.Status> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}` }, options);
  }

  /**
   * Move a message, or change its content.
   *
   * Possible until the message is being sent. A move is not possible after a delivery that may
   * have arrived. The body is a JSON merge patch (RFC 7396): absent members stay unchanged, and
   * null removes a member, also single entries of data and metadata. With send_at the message
   * moves. If the new time is not free, the message does not change; with on_conflict shift it
   * gets the next free time after the new one. Without send_at it keeps its place, which costs
   * no quota and is not judged. Submitting the original message again is still answered as a
   * repetition. A key with the scope admin changes content and metadata of other accounts'
   * messages only with the scope content.
   *
   * Requires the scope submit.
   */
  moveMessage(user: string, id: string, body: api.MoveDraft, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "PATCH", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}`, body }, options);
  }

  /**
   * Create or replace a message.
   *
   * Creates a message, or replaces the pending one with this id: content, category, campaign,
   * time and expiry. The body is that of submitMessage; its user and id, if given, are those of
   * the path. The new message is judged without the place of the former one. If it is refused,
   * nothing changes. A message that is being sent, has reached a device, may have arrived or
   * was delivered is not replaced (too_late). An id that submitMessage may use again is
   * created. The same request again is answered with replayed, and counts nothing, unless
   * moveMessage has changed the message since. With a send time or a former one within the
   * worker's horizon it counts as a move (moves_per_minute).
   *
   * Requires the scope submit.
   */
  putMessage(user: string, id: string, body: api.PutDraft, options: ConditionalOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "PUT", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}`, body }, options);
  }

  /**
   * Show the content of a message.
   *
   * Answers as getMessage does. If a key with the scope admin asks, the look is an entry of the
   * audit log, so that it is known who saw the content.
   *
   * Requires the scope read.
   */
  showContent(user: string, id: string, options: CallOptions = {}): Promise<api.Status> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}/content` }, options);
  }

  /**
   * Get the next free times of a user.
   *
   * Each time counts the ones before it as taken, so messages at all of them would be accepted.
   *
   * Requires the scope read.
   */
  getNextFree(user: string, query: api.GetNextFreeQuery = {}, options: CallOptions = {}): Promise<api.FreeTimes> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/next-free`, query: { ...query } }, options);
  }

  /**
   * Remove a user's settings.
   *
   * The user's messages do not change. scheduled counts those that do not fit the policy.
   *
   * Requires the scope admin.
   */
  clearUserSettings(user: string, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "DELETE", path: `/v1/users/${segment("user", user)}/settings` }, options);
  }

  /**
   * Get a user's settings and rules.
   *
   * A user without settings has the rules of the default policy and the ETag "0".
   *
   * Requires the scope admin.
   */
  getUserSettings(user: string, options: CallOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "GET", path: `/v1/users/${segment("user", user)}/settings` }, options);
  }

  /**
   * Change a user's settings.
   *
   * An absent field does not change; a null or empty field is removed. Takes effect
   * immediately. scheduled in the answer counts the scheduled messages that do not fit the new
   * settings, and says what became of them: see then. Until it is complete, the same request
   * continues.
   *
   * Requires the scope admin.
   */
  changeUserSettings(user: string, body: api.SettingsPatch, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "PATCH", path: `/v1/users/${segment("user", user)}/settings`, body }, options);
  }

  /**
   * Replace a user's settings.
   *
   * Replaces all settings. Takes effect immediately. scheduled in the answer counts the
   * scheduled messages that do not fit the new settings, and says what became of them: see
   * then. Until it is complete, the same request continues.
   *
   * Requires the scope admin.
   */
  setUserSettings(user: string, body: api.SettingsDraft, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "PUT", path: `/v1/users/${segment("user", user)}/settings`, body }, options);
  }

  /**
   * Get how full a user's rules are, and the free times.
   *
   * For a sliding rule this is the fullest window around the time, for a calendar rule the
   * period that contains it. Sent and scheduled messages both count. Quiet hours are not free.
   * Messages of other accounts have no ids. If there are more than 10,000 sends, only the first
   * are listed and more is true.
   *
   * Requires the scope read.
   */
  getUsage(user: string, query: api.GetUsageQuery = {}, options: CallOptions = {}): Promise<api.Usage> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/usage`, query: { ...query } }, options);
  }
}
