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
   * By name.
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
   * Requires the scope admin.
   */
  getAccount(account: string, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "GET", path: `/v1/accounts/${segment("account", account)}` }, options);
  }

  /**
   * Change an account.
   *
   * Takes effect within a second in every process. Messages that are already charged stay
   * charged.
   *
   * Requires the scope admin.
   */
  changeAccount(account: string, body: api.AccountPatch, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "PATCH", path: `/v1/accounts/${segment("account", account)}`, body }, options);
  }

  /**
   * Post an account's events no longer.
   *
   * Removes the URL and its secret. Dead events stay. Each request is an entry of the audit
   * log, and the contact of the account is told.
   *
   * Requires the scope admin.
   */
  removeCallback(account: string, options: CallOptions = {}): Promise<api.Account> {
    return this.value({ method: "DELETE", path: `/v1/accounts/${segment("account", account)}/callback` }, options);
  }

  /**
   * Get where an account's events are posted, and how far that is.
   *
   * Requires the scope admin.
   */
  getCallback(account: string, options: CallOptions = {}): Promise<api.Callback> {
    return this.value({ method: "GET", path: `/v1/accounts/${segment("account", account)}/callback` }, options);
  }

  /**
   * Set where an account's events are posted.
   *
   * Workers post what becomes of the account's messages to the URL, in signed batches of
   * CloudEvents: see the webhook `events`. The first one begins with the events from now on;
   * another URL goes on where the former one was. The answer to the request that makes the
   * secret has it. The events have the metadata of the account's messages: for another account
   * it takes the scope content too. Each request is an entry of the audit log, and the contact
   * of the account is told of a change.
   *
   * Requires the scope admin.
   */
  setCallback(account: string, body: api.CallbackDraft, options: CallOptions = {}): Promise<api.Callback> {
    return this.value({ method: "PUT", path: `/v1/accounts/${segment("account", account)}/callback`, body, once: true }, options);
  }

  /**
   * Replace the secret of a callback by a new one.
   *
   * For the overlap both secrets sign, so that there is time to install the new one:
   * `webhook-signature` has two signatures then. Each request makes a secret, repeated ones
   * too, is an entry of the audit log, and is told the contact of the account.
   *
   * Requires the scope admin.
   */
  rotateCallbackSecret(account: string, body: api.SecretRotation, options: CallOptions = {}): Promise<api.Callback> {
    return this.value({ method: "POST", path: `/v1/accounts/${segment("account", account)}/callback/rotate`, body, once: true }, options);
  }

  /**
   * Add an API key to an account.
   *
   * The other keys stay valid. rotateAccountKey replaces one. Each request makes a key,
   * repeated ones too.
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
   * Replace an API key by a new one.
   *
   * Makes a key with the same scopes, which does not expire. The old key works for the overlap,
   * unless it expires earlier, so that there is time to install the new one. Each request makes
   * a key, repeated ones too; none lets the old key live longer.
   *
   * Requires the scope admin.
   */
  rotateAccountKey(account: string, key: string, body: api.KeyRotation, options: CallOptions = {}): Promise<api.NewKey> {
    return this.value({ method: "POST", path: `/v1/accounts/${segment("account", account)}/keys/${segment("key", key)}/rotate`, body, once: true }, options);
  }

  /**
   * Get how much of its quota an account has used.
   *
   * How many messages of the present hour and day are charged: those that were sent and those
   * still scheduled, by their send times. Messages of later hours and days count there. If the
   * tier limits requests per day, also how many of them are made.
   *
   * Requires the scope admin.
   */
  getAccountUsage(account: string, options: CallOptions = {}): Promise<api.AccountUsage> {
    return this.value({ method: "GET", path: `/v1/accounts/${segment("account", account)}/usage` }, options);
  }

  /**
   * List the changes that operators made.
   *
   * By a key with the scope admin, on the dashboard, or by a command: the newest first. Without
   * the scope admin you see those of your account, and what operators did with what is yours.
   * What accounts submit, move and cancel has its history and its events instead. Operators'
   * entries are kept for 400 days.
   *
   * Requires the scope read.
   */
  listAuditEntries(query: api.ListAuditEntriesQuery = {}, options: CallOptions = {}): Pages<api.AuditEntries, api.AuditEntry> {
    return this.pages({ method: "GET", path: `/v1/audit`, query: { ...query }, member: "entries" }, options);
  }

  /**
   * Count the messages of a campaign.
   *
   * By their statuses, as long as their records are kept; an unknown campaign has none. GET
   * /v1/messages?campaign= lists them. If there are so many messages that counting takes long,
   * the answer has those that were counted so far, and `more`: GET with it goes on, until an
   * answer has none. Two are counted at a time; others are answered with 429.
   *
   * Requires the scope read.
   */
  countCampaign(campaign: string, query: api.CountCampaignQuery = {}, options: CallOptions = {}): Promise<api.CampaignStatus> {
    return this.value({ method: "GET", path: `/v1/campaigns/${segment("campaign", campaign)}`, query: { ...query } }, options);
  }

  /**
   * Cancel the messages of a campaign.
   *
   * All that are not sent yet, which erases their contents. The same request goes on after one
   * that stopped early. The summary is `campaign_cancelled`. A `progress` line comes at once,
   * and then at most every second; while the messages are counted first, `messages` grows. Each
   * message that is refused is a line. The summary is the last line. If the request stops
   * early, the summary covers what was done, and the last line is a problem's outcome. The
   * request ends with the connection. Two work on campaigns at a time; others are answered with
   * 429.
   *
   * Requires the scope submit.
   */
  cancelCampaign(campaign: string, query: api.CancelCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/cancel`, query: { ...query } }, options);
  }

  /**
   * Move the messages of a campaign by a length of time.
   *
   * All that are not sent yet. A message whose new time is refused keeps its place, and is a
   * line. With preview nothing is changed: each message is judged as if it alone were moved.
   * After a request that stopped early, the same request goes on, and moves no message twice.
   * After one that ended, it moves the campaign again. While another request moves the campaign
   * the answer is campaign_running. The summary is `campaign_moved` or `campaign_previewed`. A
   * `progress` line comes at once, and then at most every second; while the messages are
   * counted first, `messages` grows. Each message that is refused is a line. The summary is the
   * last line. If the request stops early, the summary covers what was done, and the last line
   * is a problem's outcome. The request ends with the connection. Two work on campaigns at a
   * time; others are answered with 429.
   *
   * Requires the scope submit.
   */
  moveCampaign(campaign: string, body: api.CampaignMoveDraft, query: api.MoveCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/move`, body, query: { ...query }, once: true }, options);
  }

  /**
   * Pause a campaign.
   *
   * Its messages keep their places, which count for others, and are not delivered. Within 4
   * seconds every worker follows; what is being sent is sent. A message that expires meanwhile
   * is dropped. Pausing twice is no error. At most 200 campaigns of an account are paused at a
   * time, and one without messages can't be. Then the messages are counted. If there are so
   * many messages that counting takes long, the answer has those that were counted so far, and
   * `more`: GET with it goes on, until an answer has none.
   *
   * Requires the scope submit.
   */
  pauseCampaign(campaign: string, query: api.PauseCampaignQuery = {}, options: CallOptions = {}): Promise<api.CampaignStatus> {
    return this.value({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/pause`, query: { ...query } }, options);
  }

  /**
   * Resume a paused campaign.
   *
   * Messages whose time has passed are judged as late ones: each gets the next free time under
   * the rules. It takes 4 seconds, until every worker knows. Of a request that stopped early,
   * each message is looked at within an hour. The summary is `campaign_resumed`. A `progress`
   * line comes at once, and then at most every second; while the messages are counted first,
   * `messages` grows. Each message that is refused is a line. The summary is the last line. If
   * the request stops early, the summary covers what was done, and the last line is a problem's
   * outcome. The request ends with the connection. Two work on campaigns at a time; others are
   * answered with 429.
   *
   * Requires the scope submit.
   */
  resumeCampaign(campaign: string, query: api.ResumeCampaignQuery = {}, options: CallOptions = {}): AsyncGenerator<api.CampaignProgress | api.CampaignSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/campaigns/${segment("campaign", campaign)}/resume`, query: { ...query } }, options);
  }

  /**
   * List the channels, and which are stopped.
   *
   * Those that have delivered something, or are stopped. A channel whose provider refuses the
   * credentials is stopped for all workers. Its messages wait, and no attempt counts. Workers
   * probe it once a minute, and go on by themselves when a probe passes.
   *
   * Requires the scope admin.
   */
  listChannels(options: CallOptions = {}): Promise<api.Channels> {
    return this.value({ method: "GET", path: `/v1/channels` }, options);
  }

  /**
   * Have a stopped channel deliver again.
   *
   * All workers follow within 2 seconds. If its provider called all devices gone, correct
   * project, key and environment first: the devices that it calls gone are removed from now on.
   *
   * Requires the scope admin.
   */
  resumeChannel(channel: string, options: CallOptions = {}): Promise<api.ChannelResume> {
    return this.value({ method: "POST", path: `/v1/channels/${segment("channel", channel)}/resume` }, options);
  }

  /**
   * Remove old alerts and reports that could not be delivered.
   *
   * Removes their content, the oldest first. They are not raised again. Send the request again
   * while the answer has `more`.
   *
   * Requires the scope admin.
   */
  purgeDeadAlerts(query: api.PurgeDeadAlertsQuery, options: CallOptions = {}): Promise<api.DeadPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-alerts`, query: { ...query } }, options);
  }

  /**
   * List alerts and reports that could not be delivered.
   *
   * The oldest first. A contact did not accept them for as long as alert_retry_for says.
   *
   * Requires the scope admin.
   */
  listDeadAlerts(query: api.ListDeadAlertsQuery = {}, options: CallOptions = {}): Pages<api.DeadAlerts, api.DeadAlert> {
    return this.pages({ method: "GET", path: `/v1/dead-alerts`, query: { ...query }, member: "dead_alerts" }, options);
  }

  /**
   * Remove an alert or report that could not be delivered.
   *
   * Removes its content. It is not raised again.
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
   * Deliver an alert or report after all.
   *
   * It is tried again for as long as alert_retry_for says.
   *
   * Requires the scope admin.
   */
  retryDeadAlert(alert: string, options: CallOptions = {}): Promise<api.AlertDone> {
    return this.value({ method: "POST", path: `/v1/dead-alerts/${segment("alert", alert)}/retry` }, options);
  }

  /**
   * Remove dead events.
   *
   * Removes the one with the id, or else all of the account.
   *
   * Requires the scope submit.
   */
  purgeDeadEvents(query: api.PurgeDeadEventsQuery = {}, options: CallOptions = {}): Promise<api.DeadEventsPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-events`, query: { ...query } }, options);
  }

  /**
   * List the dead events of an account.
   *
   * Those that its callback did not accept for too long, the oldest first. A key with the scope
   * admin sees the metadata of other accounts' messages only with the scope content. Each such
   * look is logged.
   *
   * Requires the scope read.
   */
  listDeadEvents(query: api.ListDeadEventsQuery = {}, options: CallOptions = {}): Pages<api.DeadEvents, api.DeadEvent> {
    return this.pages({ method: "GET", path: `/v1/dead-events`, query: { ...query }, member: "dead_events" }, options);
  }

  /**
   * Post dead events again.
   *
   * Appends dead events to the events of the account, under new ids: the one with the id, or
   * else the oldest ones. So those who follow the account's events see them again, too. `left`
   * says how many dead events there still are.
   *
   * Requires the scope submit.
   */
  retryDeadEvents(query: api.RetryDeadEventsQuery = {}, options: CallOptions = {}): Promise<api.DeadEventsRetry> {
    return this.value({ method: "POST", path: `/v1/dead-events/retry`, query: { ...query }, once: true }, options);
  }

  /**
   * Remove old dead letters.
   *
   * Removes their content, their records and their ids, the oldest first. Send the request
   * again while the answer has `more`.
   *
   * Requires the scope admin.
   */
  purgeDeadLetters(query: api.PurgeDeadLettersQuery, options: CallOptions = {}): Promise<api.DeadPurge> {
    return this.value({ method: "DELETE", path: `/v1/dead-letters`, query: { ...query } }, options);
  }

  /**
   * List dead letters.
   *
   * Without their content, the oldest first. A key with the scope admin sees the metadata of
   * other accounts' messages only with the scope content. Each such look is logged.
   *
   * Requires the scope admin.
   */
  listDeadLetters(query: api.ListDeadLettersQuery = {}, options: CallOptions = {}): Pages<api.DeadLetters, api.Status> {
    return this.pages({ method: "GET", path: `/v1/dead-letters`, query: { ...query }, member: "dead_letters" }, options);
  }

  /**
   * Send dead letters again, the oldest first.
   *
   * Each is scheduled at the next free time of its user, as by retryDeadLetter. One that is
   * refused stays a dead letter, and its outcome says why. While the answer has `next_cursor`,
   * send the request again with it: none that fails again meanwhile is retried twice.
   *
   * Requires the scope admin.
   */
  retryDeadLetters(query: api.RetryDeadLettersQuery = {}, options: CallOptions = {}): Pages<api.DeadRetry, api.Outcome> {
    return this.pages({ method: "POST", path: `/v1/dead-letters/retry`, query: { ...query }, member: "outcomes" }, options);
  }

  /**
   * List the events that have limits.
   *
   * By name.
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
   * Says how often the event may happen for each key. This API counts the requests of each
   * account as these events, beside the limits of its tier: `submit` counts requests that
   * submit: a message, a dry run, or a batch; `read` counts requests that read (GET); `change`
   * counts all other requests, such as moves and cancels. Another event needs `custom`. Takes
   * effect with the next request; what is counted stays counted. Each percent of `alert_at`
   * alerts once for each key and period.
   *
   * Requires the scope admin.
   */
  setEventLimits(event: string, body: api.EventLimitsDraft, options: CallOptions = {}): Promise<api.EventLimits> {
    return this.value({ method: "PUT", path: `/v1/event-limits/${segment("event", event)}`, body }, options);
  }

  /**
   * See how many messages are due when.
   *
   * It is counted while somebody looks, and takes at most 0.5 % of the store's time: with few
   * messages it is a few seconds old, with millions some minutes.
   *
   * Requires the scope admin.
   */
  getForecast(options: CallOptions = {}): Promise<api.Forecast> {
    return this.value({ method: "GET", path: `/v1/forecast` }, options);
  }

  /**
   * List messages of all users.
   *
   * Those to which all the given parameters apply, in no particular order. A key without the
   * scope admin finds only the messages of its account. Pages stay right while messages are
   * submitted, moved, sent and cancelled: a message that is known from the first page to the
   * last is listed once. A page looks at about 20,000 messages, so that it may be short, or
   * empty though more follow: go on until there is no next_cursor. Give the same parameters
   * with a cursor. Two pages are read at a time, one of an account; others wait for at most 5
   * seconds. With the setting index: false the answer is index_off. Messages that were accepted
   * while it was false are not found. A campaign is listed all the same. A key with the scope
   * admin sees the metadata of other accounts' messages only with the scope content. Each such
   * look is logged.
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
   * Check whether a message would be accepted.
   *
   * Answers like a submit, but stores nothing: another message can take the time a moment
   * later.
   *
   * Requires the scope submit.
   */
  checkMessage(body: api.Draft, options: SubmitOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "POST", path: `/v1/messages/dry-run`, body, keyed: true }, options);
  }

  /**
   * Find messages by their id, whoever the users are.
   *
   * Ids are unique for each user: if several users have the id, all are listed, in no
   * particular order. A key without the scope admin finds only the messages of its account. A
   * key with the scope admin sees the content (title, body, data, and what it says for devices)
   * and metadata of other accounts' messages only with the scope content. Each such look is
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
   * See how the whole system is doing.
   *
   * What became of messages in the last hour, who delivers, and what holds it up: what the
   * dashboard shows. It is at most a second old, and lists of all the store at most 15 seconds.
   * listChannels and getForecast say the rest.
   *
   * Requires the scope admin.
   */
  getOverview(options: CallOptions = {}): Promise<api.Overview> {
    return this.value({ method: "GET", path: `/v1/overview` }, options);
  }

  /**
   * Remove the pace, and end a pause.
   *
   * Also ends a pause that the target has asked for. A worker that has a pace in its settings
   * sets it again when it starts.
   *
   * Requires the scope admin.
   */
  clearPace(query: api.ClearPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "DELETE", path: `/v1/pace`, query: { ...query } }, options);
  }

  /**
   * Get how fast all workers together deliver.
   *
   * Also says whether the target has asked for a pause.
   *
   * Requires the scope admin.
   */
  getPace(query: api.GetPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "GET", path: `/v1/pace`, query: { ...query } }, options);
  }

  /**
   * Set or replace the pace.
   *
   * No interval, such as a second, has more deliveries than the rate allows. With a burst, at
   * most that many deliveries start at once and the others follow one by one at the rate.
   * Workers follow within 2 seconds, also with messages that wait already. A message that the
   * pace makes late is judged like every late message.
   *
   * Requires the scope admin.
   */
  setPace(body: api.PaceDraft, query: api.SetPaceQuery = {}, options: CallOptions = {}): Promise<api.Pace> {
    return this.value({ method: "PUT", path: `/v1/pace`, body, query: { ...query } }, options);
  }

  /**
   * List the policies.
   *
   * By name.
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
   * rollbackPolicy brings it back.
   *
   * Requires the scope admin.
   */
  deletePolicy(policy: string, options: ConditionalOptions = {}): Promise<api.PolicyDeletion> {
    return this.value({ method: "DELETE", path: `/v1/policies/${segment("policy", policy)}` }, options);
  }

  /**
   * Get a policy.
   *
   * In the form that applyPolicy accepts. With If-None-Match and the ETag that you have, the
   * answer is 304 until the policy changes.
   *
   * Requires the scope admin.
   */
  getPolicy(policy: string, options: CallOptions = {}): Promise<api.Policy & Versioned> {
    return this.versioned({ method: "GET", path: `/v1/policies/${segment("policy", policy)}` }, options);
  }

  /**
   * Create or replace a policy.
   *
   * Takes effect within two seconds in every program. If anything in the policy is wrong,
   * nothing is stored. A field that is left out gets its default, not its old value. Scheduled
   * messages keep their places and are sent as promised: previewPolicy lists those that would
   * not fit, and refitPolicy moves or cancels them. Applying the same policy again changes
   * nothing, whatever version If-Match names.
   *
   * Requires the scope admin.
   */
  applyPolicy(policy: string, body: api.PolicyDocument, options: ConditionalOptions = {}): Promise<api.PolicyChange & Versioned> {
    return this.versioned({ method: "PUT", path: `/v1/policies/${segment("policy", policy)}`, body }, options);
  }

  /**
   * List scheduled messages that would not fit a policy.
   *
   * The policy is not applied, and nothing is changed. Each message that would not fit is a
   * line. Messages are checked by time: a message fits if it breaks no rule together with the
   * earlier ones that fit. A `progress` line comes first and then every second. The summary is
   * the last line: `previewed` or `refitted`. If the request stops early, the summary covers
   * what was checked, and the last line is a problem's outcome. The request ends with the
   * connection. It uses at most half of the store's time, so only one runs at a time and others
   * are answered with 429.
   *
   * Requires the scope admin.
   */
  previewPolicy(policy: string, body: api.PolicyDocument, options: CallOptions = {}): AsyncGenerator<api.RefitProgress | api.Misfit | api.RefitSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/preview`, body }, options);
  }

  /**
   * Move or cancel scheduled messages that do not fit a policy.
   *
   * Uses the stored policy. It can be stopped at any time: the same request for the same
   * version continues where it stopped. It begins two seconds after the first line, when every
   * program follows the policy. Each message that does not fit is a line. A `progress` line
   * comes first and then every second. The summary is the last line: `previewed` or `refitted`.
   * If the request stops early, the summary covers what was checked, and the last line is a
   * problem's outcome. The request ends with the connection. It uses at most half of the
   * store's time, so only one runs at a time and others are answered with 429.
   *
   * Requires the scope admin.
   */
  refitPolicy(policy: string, query: api.RefitPolicyQuery, options: CallOptions = {}): AsyncGenerator<api.RefitProgress | api.Misfit | api.RefitSummary, void, undefined> {
    return this.lines({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/refit`, query: { ...query } }, options);
  }

  /**
   * Store an earlier version of a policy again.
   *
   * Stores it under a new version, as applyPolicy would. A deleted policy comes back. If the
   * policy is like that version already, nothing changes.
   *
   * Requires the scope admin.
   */
  rollbackPolicy(policy: string, body: api.PolicyRollback, options: ConditionalOptions = {}): Promise<api.PolicyChange & Versioned> {
    return this.versioned({ method: "POST", path: `/v1/policies/${segment("policy", policy)}/rollback`, body }, options);
  }

  /**
   * List the versions of a policy.
   *
   * With who stored each, and when. At most 100 are kept; those of a deleted policy, for 30
   * days.
   *
   * Requires the scope admin.
   */
  listPolicyVersions(policy: string, options: CallOptions = {}): Promise<api.PolicyVersions> {
    return this.value({ method: "GET", path: `/v1/policies/${segment("policy", policy)}/versions` }, options);
  }

  /**
   * List who is logged in to the dashboard.
   *
   * Requires the scope admin.
   */
  listSessions(options: CallOptions = {}): Promise<api.Sessions> {
    return this.value({ method: "GET", path: `/v1/sessions` }, options);
  }

  /**
   * End a session of the dashboard.
   *
   * Within a second every process knows.
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
   * By name.
   *
   * Requires the scope admin.
   */
  listTiers(query: api.ListTiersQuery = {}, options: CallOptions = {}): Pages<api.Tiers, api.Tier> {
    return this.pages({ method: "GET", path: `/v1/tiers`, query: { ...query }, member: "tiers" }, options);
  }

  /**
   * Remove a tier.
   *
   * Refused while an account has the tier: detail names one, and changeAccount gives it another
   * tier or none. A tier that is in the settings of a worker comes back when that starts.
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
   * Takes effect for all its accounts within a second in every process. Messages that are
   * already charged stay charged. If they are past a threshold of a lower quota, the accounts'
   * contacts are alerted; the thresholds of a higher quota alert anew.
   *
   * Requires the scope admin.
   */
  setTier(tier: string, body: api.TierLimits, options: CallOptions = {}): Promise<api.Tier> {
    return this.value({ method: "PUT", path: `/v1/tiers/${segment("tier", tier)}`, body }, options);
  }

  /**
   * Get how much of its quota the key's account has used.
   *
   * How many messages of the present hour and day are charged: those that were sent and those
   * still scheduled, by their send times. Messages of later hours and days count there. If the
   * tier limits requests per day, also how many of them are made. Without a key there is no
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
   * In the order of the store, which is not by name, and is the same each time. Users without
   * settings are not listed.
   *
   * Requires the scope admin.
   */
  listUsers(query: api.ListUsersQuery = {}, options: CallOptions = {}): Pages<api.Users, api.ListedUser> {
    return this.pages({ method: "GET", path: `/v1/users`, query: { ...query }, member: "users" }, options);
  }

  /**
   * Cancel a user's messages, and remove everything that is stored about the user.
   *
   * This can't be undone. Erasing again is safe. Stop submitting for the user first: a message
   * that is accepted meanwhile may stay. It goes on if the connection ends. Backups keep what
   * is in them. The summary `erased` is the last line. It looks at every key of the user's
   * server, so only one export or erasure runs at a time and others are answered with 429. A
   * `progress` line comes now and then. If it stops early, the last line is a problem's
   * outcome.
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
   * A key with the scope admin sees the content (title, body, data, and what it says for
   * devices) and metadata of other accounts' messages only with the scope content. Each such
   * look is logged.
   *
   * Requires the scope admin.
   */
  getDeadLetter(user: string, id: string, query: api.GetDeadLetterQuery = {}, options: CallOptions = {}): Promise<api.Status> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/dead-letters/${segment("id", id)}`, query: { ...query } }, options);
  }

  /**
   * Send a dead letter again.
   *
   * Schedules it at the next free time of its user, with all its attempts. If that is not
   * possible, it stays a dead letter.
   *
   * Requires the scope admin.
   */
  retryDeadLetter(user: string, id: string, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "POST", path: `/v1/users/${segment("user", user)}/dead-letters/${segment("id", id)}/retry` }, options);
  }

  /**
   * List a user's devices.
   *
   * Where messages of the user go. A key without the scope admin reaches only the devices that
   * its account registered. Addresses are masked unless the key has the scope content. Each
   * such look is logged.
   *
   * Requires the scope read.
   */
  listDevices(user: string, options: CallOptions = {}): Promise<api.Devices> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/devices` }, options);
  }

  /**
   * Register a device of a user.
   *
   * Call it each time that the app starts or gets another token: registering again is safe. The
   * device belongs to the account of the key, and takes the place of one of the account with
   * the same id or the same address. An account registers at most 100 devices of a user, and as
   * many of all users as its tier says; one that is registered is registered again in any case.
   * A phone has one owner: other users of the account lose the address, unless the server has
   * shared_devices.
   *
   * Requires the scope submit.
   */
  addDevice(user: string, body: api.DeviceDraft, options: CallOptions = {}): Promise<api.DeviceChange> {
    return this.value({ method: "POST", path: `/v1/users/${segment("user", user)}/devices`, body }, options);
  }

  /**
   * Remove a device of a user.
   *
   * No message goes to it from then on; one that is being sent may still arrive. A key without
   * the scope admin reaches only the devices that its account registered.
   *
   * Requires the scope submit.
   */
  removeDevice(user: string, device: string, options: CallOptions = {}): Promise<api.DeviceRemoval> {
    return this.value({ method: "DELETE", path: `/v1/users/${segment("user", user)}/devices/${segment("device", device)}` }, options);
  }

  /**
   * Export everything that is stored about a user.
   *
   * Each entry is a line: of the timeline, the messages (also those that ended), the settings,
   * alerts, dead letters, the watch list, the queue, and what dry runs have left. The summary
   * `exported` is the last line. The request ends with the connection. It looks at every key of
   * the user's server, so only one export or erasure runs at a time and others are answered
   * with 429. A `progress` line comes now and then. If it stops early, the last line is a
   * problem's outcome.
   *
   * A key with the scope admin sees the content (title, body, data, and what it says for
   * devices) and metadata of other accounts' messages only with the scope content. Each such
   * look is logged. Each export is logged, too.
   *
   * Requires the scope admin.
   */
  exportUser(user: string, options: CallOptions = {}): AsyncGenerator<api.UserProgress | api.UserEntry | api.UserExport, void, undefined> {
    return this.lines({ method: "GET", path: `/v1/users/${segment("user", user)}/export` }, options);
  }

  /**
   * List a user's messages.
   *
   * By send time, with their statuses. The list has scheduled messages, late ones included, and
   * sent messages as long as a rule can still count them. Cancelled, dropped and failed
   * messages are listed at their planned send time as long as their records are kept. A key
   * without the scope admin lists only the messages of its account. A key with the scope admin
   * sees the metadata of other accounts' messages only with the scope content. Each such look
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
   * Possible until the message is being sent. This erases its content. If an earlier delivery
   * may have arrived, its place still counts. Cancelling twice is no error, and sets replayed.
   *
   * Requires the scope submit.
   */
  cancelMessage(user: string, id: string, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "DELETE", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}` }, options);
  }

  /**
   * Get a message and its status.
   *
   * The status is kept for a while after the message ended, by default 7 days. The content,
   * from title to to, is shown until the message ends; a dead letter keeps it, and metadata
   * stays. A key with the scope admin sees the content (title, body, data, and what it says for
   * devices) and metadata of other accounts' messages only with the scope content. Each such
   * look is logged.
   *
   * Requires the scope read.
   */
  getMessage(user: string, id: string, options: CallOptions = {}): Promise<api.Status> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}` }, options);
  }

  /**
   * Move a message to another send time, or change what it says.
   *
   * Possible until the message is being sent, and a move not after a delivery that may have
   * arrived. The body is a JSON merge patch (RFC 7396): what is absent stays as it is, and null
   * removes it, also single entries of data and metadata. With send_at the message moves. If
   * the new time is not free, the message stays as it is; with on_conflict shift it gets the
   * next free time after the new one. Without send_at it keeps its place, which costs no quota
   * and is judged by no rule. A submit with its id that is the same as the first one is still
   * answered as its repetition. A key with the scope admin changes content and metadata of
   * other accounts' messages only with the scope content.
   *
   * Requires the scope submit.
   */
  moveMessage(user: string, id: string, body: api.MoveDraft, options: CallOptions = {}): Promise<api.Outcome> {
    return this.value({ method: "PATCH", path: `/v1/users/${segment("user", user)}/messages/${segment("id", id)}`, body }, options);
  }

  /**
   * Get the next free times of a user.
   *
   * Each time counts those before it as taken, so messages at all of them would be accepted.
   *
   * Requires the scope read.
   */
  getNextFree(user: string, query: api.GetNextFreeQuery = {}, options: CallOptions = {}): Promise<api.FreeTimes> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/next-free`, query: { ...query } }, options);
  }

  /**
   * Remove a user's settings.
   *
   * The user's messages stay as they are.
   *
   * Requires the scope admin.
   */
  clearUserSettings(user: string, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "DELETE", path: `/v1/users/${segment("user", user)}/settings` }, options);
  }

  /**
   * Get a user's settings, and the rules that apply to the user.
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
   * An absent field stays; a null or empty field is removed. Takes effect immediately.
   *
   * Requires the scope admin.
   */
  changeUserSettings(user: string, body: api.SettingsPatch, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "PATCH", path: `/v1/users/${segment("user", user)}/settings`, body }, options);
  }

  /**
   * Replace a user's settings.
   *
   * Replaces all settings. Takes effect immediately.
   *
   * Requires the scope admin.
   */
  setUserSettings(user: string, body: api.SettingsDraft, options: ConditionalOptions = {}): Promise<api.UserSettings & Versioned> {
    return this.versioned({ method: "PUT", path: `/v1/users/${segment("user", user)}/settings`, body }, options);
  }

  /**
   * See how full a user's rules are, and which times are free.
   *
   * For a sliding rule this is the fullest window that contains the time, for a calendar rule
   * the period that contains it. Sent and scheduled messages both count. Quiet hours are not
   * free. Messages of other accounts have no ids. If there are more than 10,000 sends, only the
   * first are listed and more is true.
   *
   * Requires the scope read.
   */
  getUsage(user: string, query: api.GetUsageQuery = {}, options: CallOptions = {}): Promise<api.Usage> {
    return this.value({ method: "GET", path: `/v1/users/${segment("user", user)}/usage`, query: { ...query } }, options);
  }
}
